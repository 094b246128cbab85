package demo

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"ciclo/internal/i18n"
	"ciclo/static"
)

// What the two kinds of page may do. The message itself comes from a template
// full of people's words, so it gets nothing: no script, no form, no picture from
// elsewhere; its links open in a page of their own.
const (
	pageCSP    = "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	messageCSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox"
)

// shownAtOnce bounds the list; older ones are found by searching.
const shownAtOnce = 200

//go:embed devmail.html
var pageSource string

var pages = template.Must(template.New("devmail").Parse(pageSource))

// page is what the templates are given.
type page struct {
	Lang       i18n.Locale
	Stylesheet string
	Icon       string
	Query      string
	Found      []Mail
	Total      int
	Mail       Mail
	Links      []string
	Headers    []string
	Gone       bool
}

// T says a word of the page in its language.
func (p page) T(key string) string { return p.Lang.T("devmail." + key) }

// Shown says how many of how many are listed.
func (p page) Shown() string {
	return p.Lang.T("devmail.shown", "shown", len(p.Found), "total", p.Total)
}

// Lost says why a message cannot be shown.
func (p page) Lost() string { return p.Lang.T("devmail.gone", "kept", kept) }

// When writes the time of receipt with its zone.
func (p page) When(m Mail) string { return p.Lang.DateTimeZone(m.ReceivedAt.Local()) }

// Title is the subject, or that there is none.
func (p page) Title(m Mail) string {
	if m.Subject == "" {
		return p.T("no_subject")
	}
	return m.Subject
}

// Routes shows what was caught. Without ?lang= the language is the request's.
func (c *Catcher) Routes(r chi.Router) {
	r.Get("/dev/mail", c.list)
	r.Get("/dev/mail.json", c.listJSON)
	r.Get("/dev/mail/{id}", c.show)
	r.Get("/dev/mail/{id}/html", c.showHTML)
}

func (c *Catcher) list(w http.ResponseWriter, r *http.Request) {
	p := newPage(r)
	p.Query = strings.TrimSpace(r.URL.Query().Get("q"))
	p.Found = search(c.Messages(), p.Query)
	p.Total = len(p.Found)
	p.Found = p.Found[:min(len(p.Found), shownAtOnce)]
	p.write(w, http.StatusOK, "list")
}

func (c *Catcher) show(w http.ResponseWriter, r *http.Request) {
	p := newPage(r)
	m, found := c.mail(r)
	if !found {
		p.Gone = true
		p.write(w, http.StatusNotFound, "message")
		return
	}
	p.Mail, p.Links = m, links(m.Text)
	for name := range m.Headers {
		p.Headers = append(p.Headers, name)
	}
	slices.Sort(p.Headers)
	p.write(w, http.StatusOK, "message")
}

var head = regexp.MustCompile(`(?i)<head[^>]*>`)

// showHTML answers the HTML part alone, for the frame of show.
func (c *Catcher) showHTML(w http.ResponseWriter, r *http.Request) {
	m, found := c.mail(r)
	if !found {
		http.NotFound(w, r)
		return
	}
	// Links must not open inside the frame, where the product refuses to be shown.
	const base = `<base target="_blank">`
	body := m.HTML
	if at := head.FindStringIndex(body); at != nil {
		body = body[:at[1]] + base + body[at[1]:]
	} else {
		body = base + body
	}
	guard(w, messageCSP)
	w.Header().Set("X-Frame-Options", "SAMEORIGIN")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(body))
}

func (c *Catcher) listJSON(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	list := json.NewEncoder(&body)
	list.SetEscapeHTML(false) // so that a link can be found in it by eye, or by grep
	if err := list.Encode(search(c.Messages(), r.URL.Query().Get("q"))); err != nil {
		http.Error(w, "mail cannot be written as JSON", http.StatusInternalServerError)
		return
	}
	guard(w, "default-src 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "application/json")
	_, _ = body.WriteTo(w)
}

// mail finds the message that the address names.
func (c *Catcher) mail(r *http.Request) (Mail, bool) {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return Mail{}, false
	}
	return c.find(id)
}

// search keeps the messages whose address or subject holds q.
func search(messages []Mail, q string) []Mail {
	if q = strings.ToLower(q); q == "" {
		return messages
	}
	return slices.DeleteFunc(messages, func(m Mail) bool {
		return !strings.Contains(strings.ToLower(m.To+"\n"+m.Subject), q)
	})
}

func newPage(r *http.Request) page {
	lang, chosen := i18n.Parse(r.URL.Query().Get("lang"))
	if !chosen {
		lang = i18n.From(r.Context())
	}
	return page{Lang: lang, Stylesheet: static.Path("ciclo.css"), Icon: static.Path("favicon.svg")}
}

// write renders to memory first, so that a failure never leaves half a page.
func (p page) write(w http.ResponseWriter, status int, name string) {
	var body bytes.Buffer
	if err := pages.ExecuteTemplate(&body, name, p); err != nil {
		http.Error(w, "the page cannot be drawn", http.StatusInternalServerError)
		return
	}
	guard(w, pageCSP)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)
}

// guard sets what every answer here carries, in the place of the product's own.
func guard(w http.ResponseWriter, csp string) {
	w.Header().Set("Content-Security-Policy", csp)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}
