package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ciclo/migrations"
)

// migrateCommands change the schema of DATABASE_URL, or look at it.
type migrateCommands struct {
	Up     migrateUp     `cmd:"" help:"Apply everything that is missing; repairs a dirty version where that is safe."`
	Down   migrateDown   `cmd:"" help:"Take back the newest steps, with the data in them."`
	Status migrateStatus `cmd:"" help:"Show what is applied; ends with 1 when something is missing."`
}

type migrateUp struct{}

// Run applies what is missing and says where that leads.
func (migrateUp) Run(ctx context.Context, out io.Writer) error {
	c, err := loadConfig(toMigrate...)
	if err != nil {
		return err
	}
	if err := migrations.Up(ctx, c.DatabaseURL); err != nil {
		return err
	}
	_, err = reportSchema(ctx, c.DatabaseURL, out)
	return err
}

type migrateDown struct {
	Steps int `arg:"" help:"How many steps, newest first."`
}

// Run takes steps back; what was stored in them is lost.
func (d migrateDown) Run(ctx context.Context, out io.Writer) error {
	if d.Steps < 1 {
		return errors.New("give the number of steps to take back, 1 or more")
	}
	c, err := loadConfig(toMigrate...)
	if err != nil {
		return err
	}
	if err := migrations.Down(ctx, c.DatabaseURL, d.Steps); err != nil {
		return err
	}
	_, err = reportSchema(ctx, c.DatabaseURL, out)
	return err
}

type migrateStatus struct{}

// Run looks, and fails when something is missing, so that scripts can ask.
func (migrateStatus) Run(ctx context.Context, out io.Writer) error {
	c, err := loadConfig(toMigrate...)
	if err != nil {
		return err
	}
	report, err := reportSchema(ctx, c.DatabaseURL, out)
	if err != nil {
		return err
	}
	if !report.Current() {
		return errors.New("the schema is behind this program: run ciclo migrate up")
	}
	return nil
}

func reportSchema(ctx context.Context, dsn string, out io.Writer) (migrations.Report, error) {
	r, err := migrations.Status(ctx, dsn)
	if err != nil {
		return r, err
	}
	dirty := ""
	if r.Dirty {
		dirty = " (dirty)"
	}
	fmt.Fprintf(out, "schema %d%s of %d, River %d of %d\n", r.Version, dirty, r.Latest, r.River, r.RiverLatest)
	for _, name := range r.Pending {
		fmt.Fprintf(out, "missing: %s\n", name)
	}
	return r, nil
}
