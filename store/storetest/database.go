// Package storetest gives a test a PostgreSQL database of its own, migrated and
// empty, in a few milliseconds: a clone of a template that is made once.
//
// It uses the server of TEST_DATABASE_URL, which make test sets; a package
// tested alone starts a private one that ends with the test process. It never
// skips: a test without its database fails.
package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/pg"
	"ciclo/migrations"
)

// Database returns the address of a migrated database that only this test
// uses. It is dropped when the test ends.
func Database(t testing.TB) (dsn string) {
	t.Helper()
	template, err := migrated()
	if err != nil {
		t.Fatalf("prepare the template database: %v", err)
	}
	name := create(t, "TEMPLATE "+template+" STRATEGY file_copy")
	return address(t, name)
}

// Empty returns the address of a database without any schema, for tests of the
// migrations themselves.
func Empty(t testing.TB) (dsn string) {
	t.Helper()
	if _, err := server(); err != nil {
		t.Fatalf("find a test server: %v", err)
	}
	return address(t, create(t, ""))
}

// Pool opens a pool on a Database. It is closed when the test ends.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return open(t, Database(t))
}

func open(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatalf("open the test database: %v", err)
	}
	t.Cleanup(pool.Close) // runs before the drop: last in, first out
	return pool
}

// create makes a database and has it dropped at the end of the test.
func create(t testing.TB, from string) (name string) {
	t.Helper()
	name = "t_" + strings.ToLower(rand.Text()[:16])
	err := asOwner(t.Context(), func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), "CREATE DATABASE "+name+" "+from)
		return err
	})
	if err != nil {
		t.Fatalf("create the test database: %v", err)
	}
	t.Cleanup(func() {
		// t.Context() has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err := asOwner(ctx, func(conn *pgx.Conn) error { return pg.DropDatabase(ctx, conn, name) })
		if err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	return name
}

func address(t testing.TB, name string) string {
	t.Helper()
	base, err := server()
	if err != nil {
		t.Fatalf("find a test server: %v", err)
	}
	dsn, err := inDatabase(base, name)
	if err != nil {
		t.Fatalf("address the test database: %v", err)
	}
	return dsn
}

// server finds the test server, or starts one, once per process.
var server = sync.OnceValues(func() (string, error) {
	if dsn := os.Getenv("TEST_DATABASE_URL"); dsn != "" {
		return dsn, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	s, err := pg.StartForTests(ctx)
	if err != nil {
		return "", err
	}
	// Nobody stops it: it ends with this process, as every server of pg does.
	return s.DSN("postgres"), nil
})

// templateTurn is held by the one test process that makes the template.
const templateTurn = 7301

// migrated makes the template unless it is there, once per process, and returns
// its name.
var migrated = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	print, err := migrations.Fingerprint()
	if err != nil {
		return "", err
	}
	template := "tpl_" + print
	err = asOwner(ctx, func(conn *pgx.Conn) error {
		// The lock ends with the connection.
		if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, templateTurn); err != nil {
			return err
		}
		var sealed bool
		err := conn.QueryRow(ctx, `
			SELECT coalesce((
				SELECT datistemplate
				FROM pg_database
				WHERE datname = $1), false)`, template).Scan(&sealed)
		if err != nil || sealed {
			return err
		}
		return makeTemplate(ctx, conn, template)
	})
	return template, err
})

func makeTemplate(ctx context.Context, conn *pgx.Conn, template string) error {
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+template+" WITH (FORCE)"); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+template); err != nil {
		return err
	}
	base, err := server()
	if err != nil {
		return err
	}
	dsn, err := inDatabase(base, template)
	if err != nil {
		return err
	}
	if err := migrations.Up(ctx, dsn); err != nil {
		return err
	}
	// Sealed: a connection to it would make every clone fail.
	_, err = conn.Exec(ctx, "ALTER DATABASE "+template+" WITH IS_TEMPLATE true ALLOW_CONNECTIONS false")
	return err
}

func asOwner(ctx context.Context, do func(*pgx.Conn) error) error {
	dsn, err := server()
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return do(conn)
}

func inDatabase(dsn, name string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "" {
		return "", fmt.Errorf("TEST_DATABASE_URL is not a postgres:// address")
	}
	u.Path = "/" + name
	return u.String(), nil
}
