package i18n

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// texts lists every text of the catalogue, by key and, for a Count, its form.
func texts() map[string]Text {
	all := map[string]Text{}
	for key, v := range catalogue {
		switch v := v.(type) {
		case Text:
			all[key] = v
		case Count:
			all[key+" (one)"], all[key+" (many)"] = v.One, v.Many
			if v.Zero != (Text{}) {
				all[key+" (zero)"] = v.Zero
			}
		}
	}
	return all
}

func TestEveryTextExistsInBothLanguages(t *testing.T) {
	for key, v := range catalogue {
		switch v.(type) {
		case Text, Count:
		default:
			t.Errorf("%s is a %T: want Text or Count", key, v)
		}
	}
	for key, text := range texts() {
		if strings.TrimSpace(text.PT) == "" || strings.TrimSpace(text.EN) == "" {
			t.Errorf("%s: a language is missing: %q, %q", key, text.PT, text.EN)
		}
	}
}

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

func TestBothLanguagesStateTheSameFacts(t *testing.T) {
	for key, text := range texts() {
		pt, en := placeholder.FindAllString(text.PT, -1), placeholder.FindAllString(text.EN, -1)
		slices.Sort(pt)
		slices.Sort(en)
		if pt, en = slices.Compact(pt), slices.Compact(en); !slices.Equal(pt, en) {
			t.Errorf("%s: pt-BR has %v, English %v", key, pt, en)
		}
	}
}

// uses finds the places of the code that name a key, or the beginning of one
// that a state or a kind completes.
var uses = []*regexp.Regexp{
	regexp.MustCompile(`\b(?:T|N)\((?:ctx|r\.Context\(\)), "([a-z0-9_.]+)"`),
	regexp.MustCompile(`\b(?:locale|l)\.(?:T|N)\("([a-z0-9_]+\.[a-z0-9_.]+)"`),
	regexp.MustCompile(`\bi18n\.From\(ctx\)\.(?:T|N)\("([a-z0-9_.]+)"`),
	regexp.MustCompile(`\bfault\.(?:Invalidf|Forbiddenf|NotFoundf|Conflictf|Msg)\("([a-z0-9_.]+)"`),
	regexp.MustCompile(`\bfault\.New\([a-zA-Z.]+, "([a-z0-9_.]+)"`),
	regexp.MustCompile(`\.say\(r, "([a-z0-9_.]+)"`),
	regexp.MustCompile(`\.Fault\([^,]+, "([a-z0-9_.]+)"`),
	regexp.MustCompile(`\bi18n\.Word\("([a-z0-9_.]+)"`),
}

func known(key string) bool {
	if !strings.HasSuffix(key, ".") && !strings.HasSuffix(key, "_") {
		return Has(key)
	}
	for k := range catalogue {
		if strings.HasPrefix(k, key) {
			return true
		}
	}
	return false
}

func TestEveryKeyThatIsUsedExists(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); strings.HasPrefix(name, ".") && name != ".." || name == "testdata" || name == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(path); ext != ".go" && ext != ".templ" || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_templ.go") {
			return nil
		}
		if strings.HasSuffix(filepath.Dir(path), filepath.Join("internal", "i18n")) {
			return nil // its own comments give examples
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, use := range uses {
			for _, m := range use.FindAllSubmatch(source, -1) {
				found++
				if key := string(m[1]); !known(key) {
					t.Errorf("%s uses %q, which the catalogue does not hold", path, key)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 100 {
		t.Errorf("only %d uses found: the patterns no longer match the code", found)
	}
}

// forbidden are the words of GLOSSARY.md's last column, by the noun whose keys
// must not hold them; an empty prefix is every key.
var forbidden = []struct {
	prefix string
	word   string
}{
	{"", "inquilin"},
	{"", "cutuca"},
	{"", "carta morta"},
	{"", "reivindica"},
	{"", "submeter"},
	{"", "submetid"},
	{"cycle.", "fechado"},
	{"roster.", "escala"},
	{"roster.", " rol "},
	{"roster.", "revisor"},
	{"review.", "revisor"},
	{"review.", "revisão"},
	{"evaluation.", "revisão"},
	{"evaluation.", "relatório"},
	{"rehearsal.", "ensaio"},
	{"activation.", "disparo"},
	{"receipt.", "recibo"},
	{"message.", "entrega"},
	{"message.", "entregue"},
	{"delivery.", "entrega"},
	{"delivery.", "entregue"},
}

// handedOver marks the one thing that the glossary does call "entregue": paper.
const handedOver = "em mãos"

func TestGlossary(t *testing.T) {
	for key, text := range texts() {
		said := strings.ToLower(text.PT)
		for _, f := range forbidden {
			if strings.HasPrefix(f.word, "entreg") && strings.Contains(said, handedOver) {
				continue
			}
			if strings.HasPrefix(key, f.prefix) && strings.Contains(said, f.word) {
				t.Errorf("%s says %q, which the glossary forbids: %q", key, f.word, text.PT)
			}
		}
		if strings.Contains(text.PT, "!") || strings.Contains(text.EN, "!") {
			t.Errorf("%s has an exclamation mark", key)
		}
	}
}

func TestNumbersAreSaidInWords(t *testing.T) {
	for _, tt := range []struct {
		n    int
		l    Locale
		want string
	}{
		{0, PT, "Nada espera por você"},
		{1, PT, "1 item"},
		{2871, PT, "2.871 itens"},
		{0, EN, "Nothing waits for you"},
		{2871, EN, "2,871 items"},
	} {
		if got := tt.l.N("home.items", tt.n); got != tt.want {
			t.Errorf("%s, %d: %q, want %q", tt.l, tt.n, got, tt.want)
		}
	}
}
