package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ciclo/internal/fault"
	"ciclo/internal/i18n"
	"ciclo/internal/intake"
	"ciclo/internal/policy"
	"ciclo/store"
)

// onDatabase opens the store for a command that does one thing and ends.
func onDatabase(ctx context.Context, do func(config, *store.Store) error) error {
	c, err := loadConfig(toMigrate...)
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, c.DatabaseURL, false)
	if err != nil {
		return err
	}
	defer pool.Close()
	s, err := store.New(pool)
	if err != nil {
		return err
	}
	if err := upToDate(ctx, s); err != nil {
		return err
	}
	return inEnglish(do(c, s))
}

// inEnglish says a fault in words: operators read English.
func inEnglish(err error) error {
	f := fault.As(err)
	if f == nil {
		return err
	}
	words := []error{errors.New(i18n.EN.Message(f.Message))}
	for field, m := range f.Fields {
		words = append(words, fmt.Errorf("  %s: %s", field, i18n.EN.Message(m)))
	}
	return errors.Join(words...)
}

type tenantCommands struct {
	Create tenantCreate `cmd:"" help:"Make an organisation, with two forms ready to use."`
}

type tenantCreate struct {
	Name    string `arg:"" help:"The organisation's name, as people read it."`
	Contact string `help:"Where replies to its messages go." placeholder:"ADDRESS"`
	Locale  string `help:"Its language: pt-BR or en." default:"pt-BR" enum:"pt-BR,en"`
	Zone    string `help:"Its time zone." default:"America/Sao_Paulo"`
}

// Run makes the organisation and says what to type next.
func (c tenantCreate) Run(ctx context.Context, out io.Writer) error {
	return onDatabase(ctx, func(_ config, s *store.Store) error {
		id, err := s.CreateTenant(ctx, c.Name, c.Locale, c.Zone, c.Contact)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "Organisation %d, %s. Now its first admin:\n  ciclo person create --tenant %q --code 1 --name \"Full Name\" --email you@example.com --role admin\n", id, c.Name, c.Name)
		return nil
	})
}

type personCommands struct {
	Create personCreate `cmd:"" help:"Make a person, and print a one-time link to choose a password."`
	Link   personLink   `cmd:"" help:"Print another one-time link, for a person who is there already."`
}

type personCreate struct {
	Tenant     string `help:"The organisation's name." required:""`
	Code       string `help:"The employee code." required:""`
	Name       string `help:"The full name." required:""`
	Email      string `help:"The e-mail address." required:""`
	Department string `help:"The department."`
	Title      string `help:"The job title."`
	Role       string `help:"admin, hr_manager, or none." default:"" enum:"admin,hr_manager,"`
}

// Run makes the person; the link is printed and stored nowhere.
func (c personCreate) Run(ctx context.Context, out io.Writer) error {
	return onDatabase(ctx, func(settings config, s *store.Store) error {
		tenant, err := s.TenantNamed(ctx, c.Tenant)
		if err != nil {
			return err
		}
		id, err := s.CreatePerson(ctx, tenant, store.PersonInput{Code: c.Code, Name: c.Name, Email: c.Email, Department: c.Department, Title: c.Title}, policy.Role(c.Role))
		if err != nil {
			return err
		}
		return printLink(ctx, out, settings, s, tenant, id, c.Name)
	})
}

type personLink struct {
	Tenant string `help:"The organisation's name." required:""`
	Email  string `help:"The person's e-mail address." required:""`
}

// Run prints another link, for whoever missed the hour of the first.
func (c personLink) Run(ctx context.Context, out io.Writer) error {
	return onDatabase(ctx, func(settings config, s *store.Store) error {
		tenant, err := s.TenantNamed(ctx, c.Tenant)
		if err != nil {
			return err
		}
		id, name, err := s.PersonWithAddress(ctx, tenant, c.Email)
		if err != nil {
			return err
		}
		return printLink(ctx, out, settings, s, tenant, id, name)
	})
}

// printLink makes a link to choose a password, and prints it: it is stored nowhere.
func printLink(ctx context.Context, out io.Writer, settings config, s *store.Store, tenant, person int64, name string) error {
	token, err := s.CreateOneTimeLink(ctx, tenant, person, "password")
	if err != nil {
		return err
	}
	base := "http://" + settings.Listen
	if settings.BaseURL != nil {
		base = settings.BaseURL.String()
	}
	fmt.Fprintf(out, "%s can choose a password within an hour, once, at\n  %s/password/%s\n", name, base, token)
	return nil
}

type importCommands struct {
	People importPeople `cmd:"" help:"Bring in people from a CSV file, as the page does."`
}

type importPeople struct {
	File   string `arg:"" type:"existingfile" help:"The file: any of the columns the page knows, by their names."`
	Tenant string `help:"The organisation's name." required:""`
	Dates  string `help:"How dates are written where the file leaves it open: dmy or mdy." default:"" enum:"dmy,mdy,"`
	DryRun bool   `help:"Compare and store nothing."`
}

// Run imports the accepted lines, and lists the others with their reason.
func (c importPeople) Run(ctx context.Context, out io.Writer) error {
	body, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	return onDatabase(ctx, func(_ config, s *store.Store) error {
		tenant, err := s.TenantNamed(ctx, c.Tenant)
		if err != nil {
			return err
		}
		done, rejected, err := s.ImportPeopleFile(ctx, tenant, filepath.Base(c.File), body, store.PeopleFileOptions{DateOrder: intake.Order(c.Dates), DryRun: c.DryRun})
		if err != nil {
			return err
		}
		for _, line := range rejected {
			for _, p := range line.Problems {
				fmt.Fprintf(out, "line %d: %s\n", line.Row.Line, i18n.EN.Message(p.Message()))
			}
		}
		fmt.Fprintf(out, "%d created, %d updated, %d unchanged, %d rejected\n", done.Created, done.Updated, done.Unchanged, done.Rejected)
		return nil
	})
}
