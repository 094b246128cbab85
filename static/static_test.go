package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestVendoredFilesAreTheOnesWeAccepted(t *testing.T) {
	sums, err := os.ReadFile("SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		body, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		sum := sha256.Sum256(body)
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s is not the file that vendor.sh accepted: %s", name, got)
		}
	}
}

func TestFilesAreFoundByTheirHashedName(t *testing.T) {
	for name := range byPlain {
		f, ok := Find(strings.TrimPrefix(Path(name), Prefix))
		if !ok || f.Type == "" || len(f.Body) == 0 {
			t.Errorf("%s: %+v, %v", name, f, ok)
			continue
		}
		if _, plain := Find(name); plain {
			t.Errorf("%s is served without its hash", name)
		}
		if f.Gzip == nil {
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(f.Gzip))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, f.Body) {
			t.Errorf("%s comes out of gzip as something else: %v", name, err)
		}
	}
}

func TestStylesheetNamesHashedFiles(t *testing.T) {
	css := string(file("ciclo.css").Body)
	found := regexp.MustCompile(`url\(([^)]+)\)`).FindAllStringSubmatch(css, -1)
	if len(found) == 0 {
		t.Fatal("no faces in the stylesheet")
	}
	for _, m := range found {
		if _, ok := Find(m[1]); !ok {
			t.Errorf("the stylesheet asks for %s", m[1])
		}
	}
}

func TestSpriteHoldsTheIconsOfItsList(t *testing.T) {
	list, err := os.ReadFile("icons.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(list))
	if !slices.IsSorted(names) {
		t.Error("icons.txt is not sorted")
	}
	sprite := string(file("icons.svg").Body)
	for _, name := range names {
		if !strings.Contains(sprite, `<symbol id="i-`+name+`" `) {
			t.Errorf("no %s in the sprite", name)
		}
	}
}
