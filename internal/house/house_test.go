package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "ciclo"

// anything marks the rooms that wire others together.
var anything = []string{"*"}

// rooms says what each folder may import of ours, its tests aside. If an entry
// must point back, the code is in the wrong room.
var rooms = map[string][]string{
	"cmd/ciclo":              anything,
	"internal/demo":          anything, // imported by cmd/ciclo alone
	"handlers":               {"views", "store", "internal/policy", "internal/appraisal", "internal/outbox", "internal/fault", "internal/i18n", "internal/intake", "internal/links", "internal/telemetry", "internal/calendar", "static"},
	"internal/relay":         {"store", "views", "internal/mail", "internal/outbox", "internal/i18n", "internal/telemetry", "internal/appraisal", "internal/fault", "internal/links"},
	"store":                  {"internal/appraisal", "internal/calendar", "internal/outbox", "internal/policy", "internal/fault", "internal/intake", "internal/links"},
	"store/storetest":        {"store", "migrations", "internal/pg", "internal/appraisal", "internal/outbox", "internal/policy", "internal/fault", "internal/links"},
	"views":                  {"internal/appraisal", "internal/calendar", "internal/outbox", "internal/i18n", "internal/fault", "internal/intake", "internal/policy", "static"},
	"internal/appraisal":     {"internal/fault"},
	"internal/outbox":        {"internal/fault"},
	"internal/calendar":      {},
	"internal/policy":        {"internal/fault"},
	"internal/i18n":          {"internal/fault"},
	"internal/intake":        {"internal/fault"},
	"internal/links":         {"internal/fault"},
	"internal/fault":         {},
	"internal/mail":          {},
	"internal/mail/mailtest": {},
	"internal/telemetry":     {},
	"internal/pg":            {},
	"internal/pg/withpg":     {"internal/pg"},
	"internal/house":         {},
	"migrations":             {},
	"static":                 {},
	"e2e":                    anything, // journeys: everything, as a person meets it
	"bench":                  anything,
}

// strangers never meet: not even through a third room.
var strangers = []struct{ room, other, why string }{
	{"handlers", "internal/relay", "web and workers run as separate processes by wiring alone"},
	{"internal/relay", "handlers", "web and workers run as separate processes by wiring alone"},
	{"store", "internal/mail", "nothing leaves the process inside a transaction"},
	{"store", "net/http", "nothing leaves the process inside a transaction"},
	{"views", "store", "views take values"},
	{"views", "net/http", "views take values, not requests"},
}

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	for room, imports := range read(t).imports {
		allowed, known := rooms[room]
		if !known {
			t.Errorf("%s is not in the table of rooms: say there what it may import", room)
			continue
		}
		for _, other := range ours(imports) {
			if slices.Equal(allowed, anything) || slices.Contains(allowed, other) {
				continue
			}
			t.Errorf("%s imports %s: it may import %v", room, other, allowed)
		}
		if room != "cmd/ciclo" && !slices.Equal(allowed, anything) && slices.Contains(imports, module+"/internal/demo") {
			t.Errorf("%s imports the demo: only cmd/ciclo does", room)
		}
	}
}

func TestStrangersDoNotMeet(t *testing.T) {
	t.Parallel()
	house := read(t)
	for _, s := range strangers {
		if by := house.route(s.room, s.other); by != nil {
			t.Errorf("%s reaches %s through %v: %s", s.room, s.other, by, s.why)
		}
	}
}

func TestEveryRoomIntroducesItself(t *testing.T) {
	t.Parallel()
	house := read(t)
	for room := range house.imports {
		name := path.Base(room)
		if slices.Contains([]string{"util", "utils", "common", "helpers", "models", "types", "misc"}, name) {
			t.Errorf("%s names nothing: call it after what it holds", room)
		}
		if !house.introduced[room] {
			t.Errorf("%s has no package comment: what is it for, what does it promise, what does it refuse?", room)
		}
	}
}

func TestQueriesNameTheirColumns(t *testing.T) {
	t.Parallel()
	for _, place := range read(t).greedy {
		t.Errorf("%s selects every column: name those that are read", place)
	}
}

func TestTestsNeitherSleepNorSkip(t *testing.T) {
	t.Parallel()
	for place, call := range read(t).lazy {
		t.Errorf("%s calls %s: wait on a signal, and fail when something is missing", place, call)
	}
}

// source is what the module's files say about themselves.
type source struct {
	imports    map[string][]string // room → import paths, without its tests
	introduced map[string]bool     // room → has a package comment
	lazy       map[string]string   // place in a test → time.Sleep or a skip
	greedy     []string            // places with SELECT *
}

func read(t *testing.T) source {
	t.Helper()
	s, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var readOnce = sync.OnceValues(func() (source, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return source{}, err
	}
	s := source{imports: map[string][]string{}, introduced: map[string]bool{}, lazy: map[string]string{}}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); file != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || name == "data") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(file) != ".go" {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return s.add(filepath.ToSlash(rel), b)
	})
	if err == nil && len(s.imports) < 3 {
		err = fmt.Errorf("only %d rooms below %s", len(s.imports), root)
	}
	return s, err
})

func (s *source) add(name string, body []byte) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, body, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	room := path.Dir(name)
	if strings.HasSuffix(name, "_test.go") {
		s.addLazy(files, file, room)
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && strings.Contains(text.Value, "SELECT *") && room != "internal/house" {
			s.greedy = append(s.greedy, files.Position(n.Pos()).String())
		}
		return true
	})
	if file.Doc != nil {
		s.introduced[room] = true
	}
	if _, seen := s.imports[room]; !seen {
		s.imports[room] = nil
	}
	for _, i := range file.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return err
		}
		s.imports[room] = append(s.imports[room], imported)
	}
	return nil
}

// addLazy notes sleeping and skipping. Journeys may skip: where there is no
// browser and nobody is counting on one.
func (s *source) addLazy(files *token.FileSet, file *ast.File, room string) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, ok := call.X.(*ast.Ident)
		if !ok {
			return true
		}
		name := of.Name + "." + call.Sel.Name
		skips := slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, call.Sel.Name) && slices.Contains([]string{"t", "b", "tb"}, of.Name)
		if name == "time.Sleep" || skips && room != "e2e" {
			s.lazy[files.Position(n.Pos()).String()] = name
		}
		return true
	})
}

// ours keeps the imports of this module, as rooms.
func ours(imports []string) []string {
	kept := map[string]bool{}
	for _, i := range imports {
		if room, ok := strings.CutPrefix(i, module+"/"); ok {
			kept[room] = true
		}
	}
	return slices.Sorted(maps.Keys(kept))
}

// route finds how a room reaches another, or a package of the standard library,
// through rooms of ours; nil when it does not.
func (s source) route(from, to string) []string {
	from0 := []string{from}
	seen := map[string]bool{from: true}
	for queue := [][]string{from0}; len(queue) > 0; queue = queue[1:] {
		way := queue[0]
		for _, i := range s.imports[way[len(way)-1]] {
			next := strings.TrimPrefix(i, module+"/")
			if next == to {
				return append(way, to)
			}
			if _, room := s.imports[next]; room && !seen[next] {
				seen[next] = true
				queue = append(queue, append(slices.Clone(way), next))
			}
		}
	}
	return nil
}
