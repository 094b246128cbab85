package storetest

import (
	"testing"

	"ciclo/migrations"
)

func TestEveryTestHasItsOwnMigratedDatabase(t *testing.T) {
	t.Parallel()
	one, two := Database(t), Database(t)
	if one == two {
		t.Fatalf("two databases at one address: %s", one)
	}
	report, err := migrations.Status(t.Context(), two)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Current() || report.Version != migrations.Latest() {
		t.Errorf("Status() = %+v, want everything applied", report)
	}
}

func TestADatabaseIsGoneAfterItsTest(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("use one", func(t *testing.T) {
		if err := Pool(t).QueryRow(t.Context(), `SELECT current_database()`).Scan(&name); err != nil {
			t.Fatal(err)
		}
	})
	var left int
	err := open(t, Empty(t)).QueryRow(t.Context(), `SELECT count(*) FROM pg_database WHERE datname = $1`, name).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d databases named %s are left (%v)", left, name, err)
	}
}
