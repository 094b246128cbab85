package migrations_test

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"ciclo/migrations"
	"ciclo/store/storetest"
)

func TestFilesComeInPairsNumberedWithoutGapsAndSayWhy(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("no migrations (%v)", err)
	}
	shape := regexp.MustCompile(`^(\d{6}_[a-z0-9_]+)\.(up|down)\.sql$`)
	steps := map[string]int{}
	for _, name := range names {
		found := shape.FindStringSubmatch(name)
		if found == nil {
			t.Errorf("%s is not named 000001_what_it_does.up.sql or .down.sql", name)
			continue
		}
		steps[found[1]]++
		b, err := fs.ReadFile(migrations.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		if found[2] == "up" && !strings.HasPrefix(text, "-- ") {
			t.Errorf("%s does not begin with why", name)
		}
		alone := strings.Contains(text, "CONCURRENTLY")
		whole := regexp.MustCompile(`(?s)^(--[^\n]*\n|\s)*BEGIN;.*\nCOMMIT;\s*$`).MatchString(text)
		if alone == whole {
			t.Errorf("%s is neither one transaction nor a lone CONCURRENTLY", name)
		}
	}
	for step, files := range steps {
		if files != 2 {
			t.Errorf("%s has %d files, want up and down", step, files)
		}
	}
	for n := 1; n <= len(steps); n++ {
		prefix, count := fmt.Sprintf("%06d_", n), 0
		for step := range steps {
			if strings.HasPrefix(step, prefix) {
				count++
			}
		}
		if count != 1 {
			t.Errorf("%d steps have the number %d", count, n)
		}
	}
}

func TestUpDownUpMakesTheSameSchema(t *testing.T) {
	t.Parallel()
	dsn := storetest.Empty(t)
	must(t, migrations.Up(t.Context(), dsn))
	first := schema(t, dsn)
	must(t, migrations.Up(t.Context(), dsn)) // harmless
	must(t, migrations.Down(t.Context(), dsn, -1))
	if left := schema(t, dsn); len(left) > 0 {
		t.Errorf("after down there is still %q", left)
	}
	must(t, migrations.Up(t.Context(), dsn))
	if diff := cmp.Diff(first, schema(t, dsn)); diff != "" {
		t.Errorf("the second up differs (-first +second):\n%s", diff)
	}
}

func TestAPoolOfOneIsEnoughToMigrate(t *testing.T) {
	t.Parallel()
	must(t, migrations.UpFrom(t.Context(), storetest.Empty(t)+"&pool_max_conns=1", three))
}

func TestDownTakesBackAsManyAsAsked(t *testing.T) {
	t.Parallel()
	dsn := storetest.Empty(t)
	must(t, migrations.UpFrom(t.Context(), dsn, three))
	must(t, migrations.DownFrom(t.Context(), dsn, three, 2))
	if got := look(t, dsn); got.Version != 1 || len(got.Pending) != 2 || got.Current() {
		t.Errorf("Status() = %+v, want version 1 and two pending", got)
	}
	must(t, migrations.DownFrom(t.Context(), dsn, three, 5)) // more than there are
	if got := look(t, dsn); got.Version != 0 || len(got.Pending) != 3 {
		t.Errorf("Status() = %+v, want nothing applied", got)
	}
}

func TestStatusChangesNothing(t *testing.T) {
	t.Parallel()
	dsn := storetest.Empty(t)
	if got := look(t, dsn); got.Version != 0 || got.River != 0 || got.Current() {
		t.Errorf("Status() = %+v, want nothing applied", got)
	}
	var tables int
	must(t, connect(t, dsn).QueryRow(t.Context(), `
		SELECT count(*)
		FROM pg_tables
		WHERE schemaname = 'public'`).Scan(&tables))
	if tables != 0 {
		t.Errorf("Status() made %d tables", tables)
	}
}

func TestManyServersMigrateAtOnce(t *testing.T) {
	t.Parallel()
	dsn := storetest.Empty(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := migrations.Up(t.Context(), dsn); err != nil {
				t.Errorf("Up() = %v", err)
			}
		})
	}
	all.Wait()
}

func TestAFailingFileLeavesVersionAndSchemaAgreeing(t *testing.T) {
	t.Parallel()
	dsn := storetest.Empty(t)
	broken := with(three, "000003_three.up.sql", "BEGIN; CREATE TABLE three (); SELECT 1/0; COMMIT;")
	err := migrations.UpFrom(t.Context(), dsn, broken)
	if err == nil || !strings.Contains(err.Error(), "division by zero") {
		t.Fatalf("Up() = %v, want the database's words", err)
	}
	got := look(t, dsn)
	if got.Version != 2 || got.Dirty {
		t.Errorf("Status() = %+v, want a clean version 2", got)
	}
	must(t, migrations.UpFrom(t.Context(), dsn, three)) // mended, it goes on
}

func TestADirtyVersionIsSettledByTryingItOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		spoil string
		want  string // in the error; "" is none
	}{
		{"the file had not committed", `DROP TABLE three`, ""},
		{"the file had committed", `SELECT 1`, ""},
		{"nobody can tell", `ALTER TABLE three RENAME TO tres; CREATE VIEW three AS SELECT * FROM tres`, "by hand"},
		{"it is from a newer program", `UPDATE schema_migrations SET version = 4`, "newer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dsn := storetest.Empty(t)
			must(t, migrations.UpFrom(t.Context(), dsn, three))
			_, err := connect(t, dsn).Exec(t.Context(), tt.spoil+`; UPDATE schema_migrations SET dirty = true`)
			must(t, err)
			err = migrations.UpFrom(t.Context(), dsn, three)
			got := look(t, dsn)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) || !got.Dirty {
					t.Errorf("Up() = %v and %+v, want a refusal with %q", err, got, tt.want)
				}
				return
			}
			if err != nil || got.Version != 3 || got.Dirty {
				t.Errorf("Up() = %v and %+v, want a clean version 3", err, got)
			}
		})
	}
}

func TestAFileThatStandsAloneRunsOutsideATransaction(t *testing.T) {
	t.Parallel()
	dsn := storetest.Empty(t)
	alone := with(three, "000003_three.up.sql", "CREATE INDEX CONCURRENTLY three ON two (id)")
	must(t, migrations.UpFrom(t.Context(), dsn, alone))
	if got := look(t, dsn); got.Version != 3 || got.Dirty {
		t.Errorf("Status() = %+v, want a clean version 3", got)
	}
}

func TestACancelledContextStopsBeforeTheNextFile(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := migrations.UpFrom(ctx, storetest.Empty(t), three); err == nil {
		t.Error("Up() with a cancelled context succeeded")
	}
}

var three = fstest.MapFS{
	"000001_one.up.sql":     {Data: []byte("-- One.\nBEGIN;\nCREATE TABLE one (id bigint);\nCOMMIT;\n")},
	"000001_one.down.sql":   {Data: []byte("BEGIN;\nDROP TABLE one;\nCOMMIT;\n")},
	"000002_two.up.sql":     {Data: []byte("-- Two.\nBEGIN;\nCREATE TABLE two (id bigint);\nCOMMIT;\n")},
	"000002_two.down.sql":   {Data: []byte("BEGIN;\nDROP TABLE two;\nCOMMIT;\n")},
	"000003_three.up.sql":   {Data: []byte("-- Three.\nBEGIN;\nCREATE TABLE three (id bigint);\nCOMMIT;\n")},
	"000003_three.down.sql": {Data: []byte("BEGIN;\nDROP TABLE three;\nCOMMIT;\n")},
}

func with(base fstest.MapFS, name, body string) fstest.MapFS {
	changed := fstest.MapFS{name: {Data: []byte(body)}}
	for other, file := range base {
		if other != name {
			changed[other] = file
		}
	}
	return changed
}

// look is the status against the three small files.
func look(t *testing.T, dsn string) migrations.Report {
	t.Helper()
	r, err := migrations.StatusFrom(t.Context(), dsn, three)
	must(t, err)
	return r
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// schema describes what is in the database besides River's and golang-migrate's.
func schema(t *testing.T, dsn string) []string {
	t.Helper()
	rows, _ := connect(t, dsn).Query(t.Context(), `
		SELECT item
		FROM (
			SELECT format('column %s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid)) AS item, c.relname
			FROM pg_class c
			JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
			LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
			WHERE c.relnamespace = 'public'::regnamespace
			UNION ALL
			SELECT format('constraint %s %s', k.conname, pg_get_constraintdef(k.oid)), c.relname
			FROM pg_constraint k
			JOIN pg_class c ON c.oid = k.conrelid
			WHERE k.connamespace = 'public'::regnamespace
			UNION ALL
			SELECT format('index %s', indexdef), tablename
			FROM pg_indexes
			WHERE schemaname = 'public'
			UNION ALL
			SELECT pg_get_triggerdef(t.oid), c.relname
			FROM pg_trigger t
			JOIN pg_class c ON c.oid = t.tgrelid
			WHERE NOT t.tgisinternal
			UNION ALL
			SELECT pg_get_functiondef(p.oid), p.proname
			FROM pg_proc p
			WHERE p.pronamespace = 'public'::regnamespace
			  AND p.prokind = 'f'
			  AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = p.oid AND e.deptype = 'e')
			UNION ALL
			SELECT format('type %s', t.typname), t.typname
			FROM pg_type t
			WHERE t.typnamespace = 'public'::regnamespace
			  AND t.typtype IN ('e', 'd')
			  AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = t.oid AND e.deptype = 'e')
		) items
		WHERE relname !~ '^(river|schema_migrations)'
		ORDER BY item`)
	items, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	return items
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
