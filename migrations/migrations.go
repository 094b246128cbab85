// Package migrations holds the schema's history and applies it: River's own
// migrations first, then the numbered files beside this one.
//
// It promises that two servers migrating at once take turns, and that a process
// killed half-way leaves a schema and a version that agree: the version is
// written inside the transaction of the file it names. Where it nevertheless
// finds a version marked dirty, it tries out what is there before it decides.
//
// It refuses to guess: what cannot be decided by trying stays as it is, with an
// error that says what to look at.
package migrations

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/golang-migrate/migrate/v4"
	pgx5 "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

//go:embed *.sql
var files embed.FS

// Report says how far a database's schema is.
type Report struct {
	River, RiverLatest int
	Version, Latest    uint // 0: nothing yet
	Dirty              bool
	Pending            []string // the files that Up would apply, in order
}

// Current reports whether there is nothing left to apply.
func (r Report) Current() bool {
	return !r.Dirty && len(r.Pending) == 0 && r.River >= r.RiverLatest
}

// Up applies everything that is missing. Doing so twice is harmless.
func Up(ctx context.Context, dsn string) error { return up(ctx, dsn, files) }

// Down takes back that many of our files, the newest first; all of them when
// steps is negative. River's tables stay.
func Down(ctx context.Context, dsn string, steps int) error { return down(ctx, dsn, files, steps) }

// Status looks, and changes nothing.
func Status(ctx context.Context, dsn string) (Report, error) { return status(ctx, dsn, files) }

// Latest is the version this program was built for.
func Latest() uint {
	versions, err := numbered(files)
	if err != nil || len(versions) == 0 {
		return 0
	}
	return versions[len(versions)-1].number
}

// Fingerprint changes whenever the schema that Up makes may change.
func Fingerprint() (string, error) {
	sum := sha256.New()
	names, err := fs.Glob(files, "*.up.sql")
	if err != nil {
		return "", fmt.Errorf("list migrations: %w", err)
	}
	for _, name := range names {
		b, err := files.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("read migration: %w", err)
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(b))
		sum.Write(b)
	}
	river, err := rivermigrate.New(riverpgxv5.New(nil), nil)
	if err != nil {
		return "", fmt.Errorf("read River's migrations: %w", err)
	}
	for _, m := range river.AllVersions() {
		fmt.Fprintf(sum, "river %d %s", m.Version, m.SQLUp)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

func up(ctx context.Context, dsn string, from fs.FS) error {
	return withTurn(ctx, dsn, func(pool *pgxpool.Pool) error {
		river, err := rivermigrate.New(riverpgxv5.New(pool), nil)
		if err != nil {
			return fmt.Errorf("read River's migrations: %w", err)
		}
		if _, err := river.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return fmt.Errorf("apply River's migrations: %w", err)
		}
		return withFiles(ctx, pool, from, (*migrate.Migrate).Up)
	})
}

func down(ctx context.Context, dsn string, from fs.FS, steps int) error {
	return withTurn(ctx, dsn, func(pool *pgxpool.Pool) error {
		return withFiles(ctx, pool, from, func(m *migrate.Migrate) error {
			if steps < 0 {
				return m.Down()
			}
			return m.Steps(-steps)
		})
	})
}

func status(ctx context.Context, dsn string, from fs.FS) (r Report, err error) {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return r, fmt.Errorf("open the database: %w", err)
	}
	defer pool.Close()
	river, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return r, fmt.Errorf("read River's migrations: %w", err)
	}
	existing, err := river.ExistingVersions(ctx)
	if err != nil {
		return r, fmt.Errorf("read River's version: %w", err)
	}
	for _, m := range existing {
		r.River = max(r.River, m.Version)
	}
	for _, m := range river.AllVersions() {
		r.RiverLatest = max(r.RiverLatest, m.Version)
	}
	// Not through the migrate driver: opening that makes the version table.
	var made bool
	if err := pool.QueryRow(ctx, `SELECT to_regclass('schema_migrations') IS NOT NULL`).Scan(&made); err != nil {
		return r, fmt.Errorf("look for the schema's version: %w", err)
	}
	if made {
		var version int64
		err := pool.QueryRow(ctx, `
			SELECT version, dirty
			FROM schema_migrations`).Scan(&version, &r.Dirty)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return r, fmt.Errorf("read the schema's version: %w", err)
		}
		r.Version = uint(max(version, 0))
	}
	versions, err := numbered(from)
	if err != nil {
		return r, err
	}
	for _, v := range versions {
		r.Latest = v.number
		if v.number > r.Version {
			r.Pending = append(r.Pending, v.name)
		}
	}
	return r, nil
}

// turn is an advisory lock of ours: whoever migrates holds it, River's part included.
const turn = 7300

// withTurn runs do while nobody else migrates this database.
func withTurn(ctx context.Context, dsn string, do func(*pgxpool.Pool) error) error {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("read the database's address: %w", err)
	}
	config.MaxConns = max(config.MaxConns, 4) // one holds the turn, River needs another
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	defer pool.Close()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, turn); err != nil {
		return fmt.Errorf("wait for our turn to migrate: %w", err)
	}
	// The connection closes with the pool; that ends the lock too, if this fails.
	defer conn.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, turn)
	return do(pool)
}

// withFiles opens golang-migrate on our files, settles a dirty version, and acts.
func withFiles(ctx context.Context, pool *pgxpool.Pool, from fs.FS, act func(*migrate.Migrate) error) error {
	versions, err := numbered(from)
	if err != nil || len(versions) == 0 {
		return err
	}
	src, err := iofs.New(from, ".")
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	db := stdlib.OpenDB(*pool.Config().ConnConfig)
	driver, err := pgx5.WithInstance(db, &pgx5.Config{})
	if err != nil {
		return errors.Join(fmt.Errorf("open the database to migrate: %w", err), db.Close(), src.Close())
	}
	m, err := migrate.NewWithInstance("iofs", src, "pgx5", &together{Driver: driver})
	if err != nil {
		return errors.Join(fmt.Errorf("prepare to migrate: %w", err), driver.Close(), src.Close())
	}
	// golang-migrate knows no context; it can be asked to stop between files.
	stop := context.AfterFunc(ctx, func() { m.GracefulStop <- true })
	defer stop()
	err = repair(ctx, driver, src)
	if err == nil {
		err = act(m)
	}
	if errors.Is(err, migrate.ErrNoChange) {
		err = nil
	}
	if short := (migrate.ErrShortLimit{}); errors.As(err, &short) {
		err = nil // fewer to take back than asked for
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	srcErr, dbErr := m.Close()
	return errors.Join(err, srcErr, dbErr)
}

type version struct {
	number uint
	name   string // of the up file
}

// numbered lists the up files in order.
func numbered(from fs.FS) ([]version, error) {
	names, err := fs.Glob(from, "*.up.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	var all []version
	for _, name := range names {
		digits, _, _ := strings.Cut(name, "_")
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("migration %s does not begin with a number", name)
		}
		all = append(all, version{uint(n), name})
	}
	return all, nil
}
