// Package static holds the files a browser fetches besides pages: the
// stylesheet, scripts, icons and faces.
//
// Every file is served under a name that carries a hash of its content, so a
// browser may keep it for good and never shows an old one with a new page. The
// names inside the stylesheet are rewritten the same way. The package knows no
// request: it answers names and bytes.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"
)

//go:embed *.css *.js *.svg *.woff2
var embedded embed.FS

// Prefix is where the files are served.
const Prefix = "/static/"

// File is one file as it is served.
type File struct {
	Name string // with its hash: ciclo-1a2b3c4d5e.css
	Type string // media type
	Body []byte
	Gzip []byte // nil where compressing gains nothing
}

var (
	byPlain  = map[string]*File{} // ciclo.css
	byHashed = map[string]*File{} // ciclo-1a2b3c4d5e.css
)

func init() {
	entries, err := embedded.ReadDir(".")
	if err != nil {
		panic(err)
	}
	for _, pass := range []bool{false, true} { // the stylesheet last: it names other files
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".css") == pass {
				add(e.Name())
			}
		}
	}
}

var reference = regexp.MustCompile(`url\(([a-z0-9.-]+)\)`)

func add(name string) {
	body, err := embedded.ReadFile(name)
	if err != nil {
		panic(err)
	}
	ext := path.Ext(name)
	if ext == ".css" {
		body = reference.ReplaceAllFunc(body, func(m []byte) []byte {
			return fmt.Appendf(nil, "url(%s)", file(string(reference.FindSubmatch(m)[1])).Name)
		})
	}
	sum := sha256.Sum256(body)
	f := &File{
		Name: strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:5]) + ext,
		Type: types[ext],
		Body: body,
	}
	if ext != ".woff2" { // already compressed
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		_, _ = z.Write(body) // a bytes.Buffer does not fail
		_ = z.Close()
		f.Gzip = b.Bytes()
	}
	byPlain[name], byHashed[f.Name] = f, f
}

var types = map[string]string{
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".svg":   "image/svg+xml",
	".woff2": "font/woff2",
}

func file(name string) *File {
	f, ok := byPlain[name]
	if !ok {
		panic("static: no file " + name)
	}
	return f
}

// Path answers the address of a file by its plain name: Path("ciclo.css") is
// /static/ciclo-1a2b3c4d5e.css. A name that does not exist is a mistake in the
// program and panics.
func Path(name string) string { return Prefix + file(name).Name }

// Find answers the file behind a hashed name, and false for any other name.
func Find(hashed string) (*File, bool) {
	f, ok := byHashed[hashed]
	return f, ok
}
