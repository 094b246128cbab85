package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// acrossTenants are the functions of the store that touch an organisation's
// table without naming the organisation, and why they may.
var acrossTenants = map[string]string{
	"SignIn":          "an address may be of people in several organisations; its password chooses",
	"noteFailure":     "an address may be of people in several organisations; each gets its own entry",
	"AskReset":        "an address may be of people in several organisations; each gets its own link",
	"PasswordLink":    "the secret of the link names its row",
	"SetPassword":     "the secret of the link names its row",
	"readReviewLink":  "the link is signed over its organisation, which is joined to its row",
	"ResumeSession":   "the secret of the session names its row, and that its organisation",
	"KeepSessionData": "the secret of the session names its row",
	"EndSession":      "the secret of the session names its row",
	"Tidy":            "what has expired is thrown away for everybody",
	"LiveLinkKeys":    "for the operator: keys, and nothing of anybody",
	"OutboxStanding":  "for the operator: counts, and nothing of anybody",
	"RemindByRule":    "the rule reminds for everybody, each row by its own organisation",
	"SendLostLinks":   "an address may be of people in several organisations; each gets a link of their own",
	"reclaim":         "the sweep takes back lost leases for everybody, each row by its own organisation",
	"TellOfFailed":    "a job that tells the people of every organisation of its own messages",
	"overdueQueues":   "the sweep asks which organisations wait",
}

var (
	createsTable = regexp.MustCompile(`(?s)CREATE TABLE ([a-z_]+) \((.*?)\n\)`)
	namesTable   = regexp.MustCompile(`\b(?:FROM|JOIN|UPDATE|INTO)\s+(?:ONLY\s+)?([a-z_]+)\b`)
	// a tenant that is handed in; comparing two columns alone binds nothing
	bindsTenant = regexp.MustCompile(`@tenant\b|@tenants\b|tenant_id\s*=\s*\$\d`)
)

// TestStatementsNameTheirOrganisation reads every statement of the store: one
// that touches a table with tenant_id is handed the organisation, or says above
// why it need not be.
func TestStatementsNameTheirOrganisation(t *testing.T) {
	t.Parallel()
	tables := tenantTables(t)
	files, err := filepath.Glob("../../store/*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files of the store (%v)", len(files), err)
	}
	used := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			within := "a declaration of " + filepath.Base(name)
			if f, ok := d.(*ast.FuncDecl); ok {
				within = f.Name.Name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				text, ok := n.(*ast.BasicLit)
				if !ok || text.Kind != token.STRING {
					return true
				}
				sql, err := strconv.Unquote(text.Value)
				if err != nil {
					t.Fatal(err)
				}
				table := tenantTable(sql, tables)
				if table == "" || bindsTenant.MatchString(sql) {
					return true
				}
				if _, may := acrossTenants[within]; may {
					used[within] = true
					return true
				}
				t.Errorf("%s: %s touches %s of every organisation: hand it @tenant, or say in acrossTenants why it may", set.Position(n.Pos()), within, table)
				return true
			})
		}
	}
	for name := range acrossTenants {
		if !used[name] {
			t.Errorf("%s stands in acrossTenants for nothing", name)
		}
	}
}

// tenantTables are the tables of the migrations that have a tenant_id.
func tenantTables(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../../migrations/*.up.sql")
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]bool{}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range createsTable.FindAllStringSubmatch(string(b), -1) {
			if regexp.MustCompile(`\n\s*tenant_id\s`).MatchString(m[2]) {
				tables[m[1]] = true
			}
		}
	}
	if len(tables) < 10 || !tables["people"] || !tables["outbox_events"] || tables["tenants"] {
		t.Fatalf("the tables of organisations are said to be %v", tables)
	}
	return tables
}

// tenantTable is the first table of an organisation that a statement names.
func tenantTable(sql string, tables map[string]bool) string {
	for _, m := range namesTable.FindAllStringSubmatch(sql, -1) {
		if tables[m[1]] {
			return m[1]
		}
	}
	return ""
}
