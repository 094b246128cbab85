package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-chi/chi/v5"

	"ciclo/migrations"
	"ciclo/store"
)

// serveCommand answers people, and works the outbox unless told otherwise.
type serveCommand struct {
	NoWorkers bool `help:"Only answer people; ciclo work does the rest."`
}

// Run serves until ctx ends.
func (c serveCommand) Run(ctx context.Context, out io.Writer) error {
	a, err := openProduction(ctx)
	if err != nil {
		return err
	}
	defer a.close()
	if !c.NoWorkers {
		if err := a.work(ctx); err != nil {
			return err
		}
	}
	if err := a.serve(ctx, func(chi.Router) {}); err != nil {
		return err
	}
	fmt.Fprintf(out, "Ciclo answers at %s (%s)\n", a.config.BaseURL, a.listener.Addr())
	if any, err := a.store.AnyTenant(ctx); err == nil && !any {
		fmt.Fprintln(out, "There is no organisation yet. Make one, and its first admin:")
		fmt.Fprintln(out, `  ciclo tenant create "Name" --contact hr@example.com`)
		fmt.Fprintln(out, `  ciclo person create --tenant "Name" --code 1 --name "Full Name" --email you@example.com --role admin`)
	}
	<-ctx.Done()
	return nil
}

// workCommand works the outbox and nothing else.
type workCommand struct{}

// Run works until ctx ends.
func (workCommand) Run(ctx context.Context, out io.Writer) error {
	a, err := openProduction(ctx)
	if err != nil {
		return err
	}
	defer a.close()
	if err := a.work(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "Ciclo works the outbox")
	<-ctx.Done()
	return nil
}

// openProduction reads the settings, migrates when MIGRATE says so, and refuses
// a database of the demo, one that is not migrated, and a key ring that lacks
// the key of a link still in somebody's inbox.
func openProduction(ctx context.Context) (*app, error) {
	c, err := loadConfig(toServe...)
	if err != nil {
		return nil, err
	}
	if c.Migrate {
		if err := migrations.Up(ctx, c.DatabaseURL); err != nil {
			return nil, err
		}
	}
	a, err := openApp(ctx, c, newLog(c.LogFormat))
	if err != nil {
		return nil, err
	}
	if err := a.fitForProduction(ctx); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// upToDate refuses a database that lacks what we would ask it for.
func upToDate(ctx context.Context, s *store.Store) error {
	if err := s.Ready(ctx, migrations.Latest()); err != nil {
		return fmt.Errorf("%w; bring it up to date with: ciclo migrate up", err)
	}
	return nil
}

func (a *app) fitForProduction(ctx context.Context) error {
	if err := upToDate(ctx, a.store); err != nil {
		return fmt.Errorf("%w (or set MIGRATE=1)", err)
	}
	demo, err := a.store.IsDemo(ctx)
	if err != nil {
		return err
	}
	if demo {
		return errors.New("this database belongs to the demo, whose passwords everybody knows: give another DATABASE_URL")
	}
	used, err := a.store.LiveLinkKeys(ctx)
	if err != nil {
		return err
	}
	var missing []string
	for _, id := range used {
		if !a.config.Keys.Has(id) {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("SECRET_KEYS lacks the key(s) %s, with which links in people's inboxes were made: add them after the first", strings.Join(missing, ", "))
	}
	return nil
}
