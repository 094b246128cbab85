package migrations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"regexp"
	"strconv"
	"strings"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/source"
)

// together is a golang-migrate driver that commits a file and its version in one
// transaction. Plain golang-migrate marks the version dirty, commits the file,
// and marks it clean in a third transaction; killed in between, nobody can tell
// whether the file is in.
type together struct {
	database.Driver
	next int // the version of the file that Run gets next
}

// SetVersion holds a dirty mark back until Run knows whether it is needed.
func (t *together) SetVersion(version int, dirty bool) error {
	if dirty {
		t.next = version
		return nil
	}
	return t.Driver.SetVersion(version, false)
}

// Run applies a file. One that cannot run inside a transaction (CREATE INDEX
// CONCURRENTLY) keeps the dirty mark of old.
func (t *together) Run(file io.Reader) error {
	b, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("read migration: %w", err)
	}
	body, whole := transaction(string(b))
	if !whole {
		if err := t.Driver.SetVersion(t.next, true); err != nil {
			return err
		}
		return t.Driver.Run(strings.NewReader(string(b)))
	}
	mark := "\nTRUNCATE schema_migrations;\n"
	if t.next >= 0 {
		mark += "INSERT INTO schema_migrations (version, dirty) VALUES (" + strconv.Itoa(t.next) + ", false);\n"
	}
	return orRollback(t.Driver, body+mark+"COMMIT;")
}

// oneTransaction is a file that is BEGIN … COMMIT, comments before it allowed.
var oneTransaction = regexp.MustCompile(`(?is)\A((?:\s|--[^\n]*\n)*BEGIN\s*;.*)\bCOMMIT\s*;\s*\z`)

// transaction cuts the COMMIT off a file that is one transaction.
func transaction(file string) (body string, ok bool) {
	found := oneTransaction.FindStringSubmatch(file)
	if found == nil {
		return "", false
	}
	return found[1], true
}

// orRollback runs a script, and leaves no transaction open when it fails.
func orRollback(db database.Driver, script string) error {
	err := db.Run(strings.NewReader(script))
	if err != nil {
		err = errors.Join(err, db.Run(strings.NewReader("ROLLBACK")))
	}
	return err
}

// repair settles a version that is marked dirty. Our own marks are never left
// behind by a file that is one transaction, so such a mark comes from another
// tool, or from before. Whether the file is in is found out by trying it, in a
// transaction that is rolled back.
func repair(ctx context.Context, db database.Driver, src source.Driver) error {
	version, dirty, err := db.Version()
	if err != nil || !dirty {
		return err
	}
	if version < 0 {
		return db.SetVersion(database.NilVersion, false)
	}
	applies, err := tryOut(db, src.ReadUp, uint(version))
	if err != nil {
		return fmt.Errorf("settle dirty version %d: %w", version, err)
	}
	if applies {
		before := database.NilVersion
		if p, err := src.Prev(uint(version)); err == nil {
			before = int(p)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("find the version before %d: %w", version, err)
		}
		slog.WarnContext(ctx, "repaired the schema's version: the file is one transaction and, tried out, still applies, so it had not committed",
			"dirty", version, "now", before)
		return db.SetVersion(before, false)
	}
	reverts, err := tryOut(db, src.ReadDown, uint(version))
	if err != nil {
		return fmt.Errorf("settle dirty version %d: %w", version, err)
	}
	if reverts {
		slog.WarnContext(ctx, "repaired the schema's version: the file is one transaction and, tried out, can be taken back, so it had committed whole",
			"dirty", version, "now", version)
		return db.SetVersion(version, false)
	}
	return fmt.Errorf("version %d is marked dirty, and tried out it can neither be applied nor taken back: "+
		"compare the schema with migrations/%06d_*.up.sql by hand, then set the version in schema_migrations", version, version)
}

// tryOut reports whether a file runs now, and undoes it.
func tryOut(db database.Driver, read func(uint) (io.ReadCloser, string, error), version uint) (bool, error) {
	file, _, err := read(version)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("this program has no file for it: use the program that wrote it, or a newer one")
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	b, err := io.ReadAll(file)
	if err != nil {
		return false, err
	}
	body, ok := transaction(string(b))
	if !ok {
		return false, fmt.Errorf("its file is not one transaction, so it may be in by half: look at the schema, then set the version in schema_migrations")
	}
	if err := db.Run(strings.NewReader(body + "\nROLLBACK;")); err != nil {
		return false, db.Run(strings.NewReader("ROLLBACK"))
	}
	return true, nil
}
