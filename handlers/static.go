package handlers

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"ciclo/internal/fault"
	"ciclo/static"
)

// serveStatic answers GET /static/{file}: for good, because the name changes
// with the content.
func (h *Handlers) serveStatic(w http.ResponseWriter, r *http.Request) {
	f, ok := static.Find(chi.URLParam(r, "file"))
	if !ok {
		h.fail(w, r, fault.NotFoundf("fault.not_found"))
		return
	}
	serveFile(w, r, f, "public, max-age=31536000, immutable")
}

// serveFavicon answers browsers that ask without reading the page.
func (h *Handlers) serveFavicon(w http.ResponseWriter, r *http.Request) {
	f, _ := static.Find(strings.TrimPrefix(static.Path("favicon.svg"), static.Prefix))
	serveFile(w, r, f, "public, max-age=86400")
}

func serveFile(w http.ResponseWriter, r *http.Request, f *static.File, caching string) {
	header, body := w.Header(), f.Body
	header.Set("Content-Type", f.Type)
	header.Set("Cache-Control", caching)
	header.Set("ETag", `"`+f.Name+`"`)
	if f.Gzip != nil {
		header.Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && r.Header.Get("Range") == "" {
			header.Set("Content-Encoding", "gzip")
			body = f.Gzip
		}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
