package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sort"
	"strings"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"ciclo/internal/fault"
	"ciclo/internal/i18n"
	"ciclo/views"
)

// This file is the only one that writes a status. Answers are rendered to
// memory first, so that a page that fails half-way becomes an apology and not
// half a page under a 200.

// action is a handler that may fail; page turns its error into an answer.
type action func(w http.ResponseWriter, r *http.Request) error

// bodyLimit is how much an ordinary form may send, uploadLimit a file with it.
const (
	bodyLimit   = 1 << 20
	uploadLimit = 10<<20 + 64<<10
)

// page is the adapter around every handler: bodies up to 1 MiB.
func (h *Handlers) page(do action) http.HandlerFunc { return h.limited(bodyLimit, do) }

// upload is page for forms that bring a file of up to 10 MB.
func (h *Handlers) upload(do action) http.HandlerFunc { return h.limited(uploadLimit, do) }

func (h *Handlers) limited(limit int64, do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := limitBody(r, limit)
		err := do(w, r)
		if err == nil {
			return
		}
		if body.exceeded { // whatever the handler made of the half it got
			err = tooLarge(limit)
			body.drain() // a browser that is still sending would not read the answer
		}
		h.fail(w, r, err)
	}
}

// statuses says how each kind of failure is answered.
var statuses = map[fault.Kind]int{
	fault.None:      http.StatusOK,
	fault.Invalid:   http.StatusUnprocessableEntity,
	fault.Forbidden: http.StatusForbidden,
	fault.NotFound:  http.StatusNotFound,
	fault.Conflict:  http.StatusConflict,
	fault.TooMany:   http.StatusTooManyRequests,
	fault.TooLarge:  http.StatusRequestEntityTooLarge,
	fault.Busy:      http.StatusServiceUnavailable,
	fault.Internal:  http.StatusInternalServerError,
}

// titles heads the page that says so.
var titles = map[fault.Kind]string{
	fault.Invalid:   "error.invalid",
	fault.Forbidden: "error.forbidden",
	fault.NotFound:  "error.not_found",
	fault.Conflict:  "error.conflict",
	fault.TooMany:   "error.too_many",
	fault.TooLarge:  "error.too_large",
	fault.Busy:      "error.busy",
	fault.Internal:  "error.internal",
}

// statusOf is the status of a failure, for pages that show it in their own form.
func statusOf(err error) int { return statuses[fault.KindOf(err)] }

// fail answers an error: a fault in its own words, anything else as an apology.
// To htmx it goes into the page's #problem region; the panel stays as it was.
func (h *Handlers) fail(w http.ResponseWriter, r *http.Request, err error) {
	gone := r.Context().Err() != nil // nobody is waiting for an answer any more
	kind := fault.KindOf(err)
	if gone && (kind != fault.Internal || errors.Is(err, context.Canceled)) {
		return
	}
	if kind == fault.Internal {
		h.log.ErrorContext(r.Context(), "request failed", "err", err, "request_id", requestID(r), "route", route(r))
	}
	comeBackLater(w, kind)
	h.answerProblem(w, r, statuses[kind], titles[kind], problemWords(r.Context(), err))
}

// comeBackLater says when a refusal that passes may be over.
func comeBackLater(w http.ResponseWriter, kind fault.Kind) {
	if kind == fault.Busy || kind == fault.TooMany {
		w.Header().Set("Retry-After", "60")
	}
}

// problemWords says a failure in the reader's language, fields included.
func problemWords(ctx context.Context, err error) string {
	f := fault.As(err)
	if f == nil {
		return i18n.T(ctx, "fault.internal")
	}
	words := views.Say(ctx, f.Message)
	if len(f.Fields) == 0 {
		return words
	}
	var fields []string
	for _, m := range f.Fields {
		if said := views.Say(ctx, m); said != words {
			fields = append(fields, said)
		}
	}
	sort.Strings(fields)
	return strings.TrimSpace(words + " " + strings.Join(fields, " "))
}

func (h *Handlers) answerProblem(w http.ResponseWriter, r *http.Request, status int, titleKey, words string) {
	page := views.ErrorPage(i18n.T(r.Context(), titleKey), words, requestID(r))
	fragment := views.Problem(words, requestID(r))
	if wantsFragment(r) {
		w.Header().Set("HX-Retarget", "#problem")
		w.Header().Set("HX-Reswap", "innerHTML")
		w.Header().Set("HX-Push-Url", "false")
	}
	if err := h.render(w, r, status, page, fragment); err != nil && r.Context().Err() == nil {
		h.log.ErrorContext(r.Context(), "error page failed", "err", err, "request_id", requestID(r))
		http.Error(w, words, http.StatusInternalServerError)
	}
}

// render answers with the page, or with the fragment when htmx asked for one.
// A nil fragment always answers the page.
func (h *Handlers) render(w http.ResponseWriter, r *http.Request, status int, page, fragment templ.Component) error {
	ctx, what := r.Context(), page
	flash := h.takeFlash(r)
	if fragment != nil && wantsFragment(r) {
		what = views.WithFlash(fragment, flash)
	} else {
		v := views.ViewerFrom(ctx)
		v.Flash = append(v.Flash, flash...)
		v.Counts, v.Sending = h.counts(r), h.sending(r)
		ctx = views.WithViewer(ctx, v)
	}
	var b bytes.Buffer
	if err := what.Render(ctx, &b); err != nil {
		return fmt.Errorf("render: %w", err)
	}
	if err := h.keepSession(w, r); err != nil {
		return err
	}
	header := w.Header()
	header.Add("Vary", "HX-Request, HX-Request-Type, HX-Boosted, HX-History-Restore-Request, Accept-Language, Cookie")
	header.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the reader has gone; there is nobody to tell
	return nil
}

// show is render with status 200.
func (h *Handlers) show(w http.ResponseWriter, r *http.Request, page, fragment templ.Component) error {
	return h.render(w, r, http.StatusOK, page, fragment)
}

// showList is show for one page of a list. Whoever asks for a page beyond the
// last, as rows have gone since, is led to the last.
func (h *Handlers) showList(w http.ResponseWriter, r *http.Request, l views.List, page, fragment templ.Component) error {
	if last := l.Pages(); l.Page > last {
		return h.redirect(w, r, l.PageURL(last))
	}
	return h.show(w, r, page, fragment)
}

// refuse answers a form that cannot be accepted: the same form, with what was
// typed and what is wrong.
func (h *Handlers) refuse(w http.ResponseWriter, r *http.Request, err error, page, fragment templ.Component) error {
	comeBackLater(w, fault.KindOf(err))
	return h.render(w, r, statusOf(err), page, fragment)
}

// redirect sends the browser to an address of ours with GET.
func (h *Handlers) redirect(w http.ResponseWriter, r *http.Request, url string) error {
	if err := h.keepSession(w, r); err != nil {
		return err
	}
	if r.Header.Get("HX-Request") == "true" {
		w.Header().Set("HX-Redirect", url)
		w.WriteHeader(http.StatusOK)
		return nil
	}
	w.Header().Set("Location", url)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// download answers with a file to keep.
func (h *Handlers) download(w http.ResponseWriter, name, mediaType string, body []byte) error {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Disposition", contentDisposition(name))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body)
	return nil
}

// answer writes a small body of another type: health checks, JSON, a mail's HTML.
func (h *Handlers) answer(w http.ResponseWriter, status int, mediaType string, body []byte) error {
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return nil
}

// contentDisposition names a file so that every browser keeps its accents.
func contentDisposition(name string) string {
	plain := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return '_'
		}
		return c
	}, name)
	var b strings.Builder
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return fmt.Sprintf(`attachment; filename="%s"; filename*=UTF-8''%s`, plain, b.String())
}

// wantsFragment reports whether htmx will place the answer inside a page it
// already has. A boosted link or a restored history entry needs the whole page.
func wantsFragment(r *http.Request) bool {
	return r.Header.Get("HX-Request") == "true" &&
		r.Header.Get("HX-Request-Type") != "full" &&
		r.Header.Get("HX-Boosted") == "" &&
		r.Header.Get("HX-History-Restore-Request") == ""
}

func (h *Handlers) notFound(http.ResponseWriter, *http.Request) error {
	return fault.NotFoundf("fault.not_found")
}

func (h *Handlers) methodNotAllowed(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Allow", strings.Join(allowed(r), ", "))
	h.answerProblem(w, r, http.StatusMethodNotAllowed, "error.method_title", i18n.T(r.Context(), "error.method"))
	return nil
}

// allowed lists what may be asked of the request's address.
func allowed(r *http.Request) (methods []string) {
	routes := chi.RouteContext(r.Context()).Routes
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		as := m
		if m == http.MethodHead { // answered wherever GET is
			as = http.MethodGet
		}
		if routes.Match(chi.NewRouteContext(), as, r.URL.Path) {
			methods = append(methods, m)
		}
	}
	return methods
}
