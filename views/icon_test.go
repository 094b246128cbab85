package views

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// drawn finds the icons that the views name.
var drawn = []*regexp.Regexp{
	regexp.MustCompile(`\bIconS?\("([a-z0-9-]+)"\)`),
	regexp.MustCompile(`\b(?:Chip|Notice|Go|Submit|OpenDialog)\([A-Za-z]+, "([a-z0-9-]+)"`),
	regexp.MustCompile(`\bEmpty\("([a-z0-9-]+)"`),
	regexp.MustCompile(`\b[iI]con:\s*"([a-z0-9-]+)"`),
}

func TestEveryIconIsInTheSprite(t *testing.T) {
	sprite, err := os.ReadFile("../static/icons.svg")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("*")
	found := 0
	for _, name := range files {
		if ext := filepath.Ext(name); ext != ".templ" && (ext != ".go" || strings.HasSuffix(name, "_templ.go")) {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range drawn {
			for _, m := range use.FindAllSubmatch(source, -1) {
				found++
				if !strings.Contains(string(sprite), `id="i-`+string(m[1])+`"`) {
					t.Errorf("%s draws %q, which static/icons.txt does not name", name, m[1])
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d icons found: the patterns no longer match the views", found)
	}
}
