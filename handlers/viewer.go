package handlers

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"ciclo/internal/fault"
	"ciclo/internal/i18n"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/views"
)

// The cookies that remember a choice; they say nothing about the person.
const (
	languageCookie = "language"
	themeCookie    = "theme"
)

// identifyViewer reads who is looking, in which language and theme. When the
// database cannot say, the answer is 503 and never "signed out".
func (h *Handlers) identifyViewer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(i18n.With(r.Context(), preferredLocale(r, "")))
		ss, err := h.current(r) // also puts gorilla's registry into r's context
		if err != nil {
			if r.Context().Err() == nil {
				h.log.ErrorContext(r.Context(), "session unknown", "err", err, "request_id", requestID(r))
			}
			h.fail(w, r, fault.New(fault.Busy, "fault.busy"))
			return
		}
		row := rowOf(ss)
		ctx := context.WithValue(r.Context(), identifiedKey{}, true)
		ctx = i18n.With(ctx, preferredLocale(r, row.Locale))
		ctx = views.WithViewer(ctx, viewerOf(r, row))
		if row.PersonID != 0 {
			noteActor(ctx, row.Actor())
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func viewerOf(r *http.Request, row store.Session) views.Viewer {
	v := views.Viewer{Theme: theme(r), Path: pagePath(r)}
	if row.PersonID != 0 {
		v.Actor, v.Name, v.Org, v.Zone = row.Actor(), row.Name, row.Org, row.Zone
	}
	return v
}

// noteActor marks the server's span with who acted: numbers, never names.
func noteActor(ctx context.Context, a policy.Actor) {
	roles := make([]string, len(a.Roles))
	for i, role := range a.Roles {
		roles[i] = string(role)
	}
	trace.SpanFromContext(ctx).SetAttributes(
		attribute.Int64("user.id", a.PersonID),
		attribute.StringSlice("user.roles", roles),
		attribute.Int64("tenant.id", a.TenantID),
	)
}

// preferredLocale: the person's setting, else the cookie, else what the browser
// asks for, else pt-BR.
func preferredLocale(r *http.Request, setting string) i18n.Locale {
	if l, ok := i18n.Parse(setting); ok {
		return l
	}
	if c, err := r.Cookie(languageCookie); err == nil {
		if l, ok := i18n.Parse(c.Value); ok {
			return l
		}
	}
	for tag := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, _, _ = strings.Cut(tag, ";")
		if l, ok := i18n.Parse(tag); ok {
			return l
		}
	}
	return i18n.PT
}

func theme(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// pagePath is the address to come back to: of this page, or for htmx of the
// page it is in. A POST has none of its own; its form says where it came from.
func pagePath(r *http.Request) string {
	if r.Header.Get("HX-Request") == "true" {
		if u, err := url.Parse(r.Header.Get("HX-Current-URL")); err == nil {
			return localPath(u.RequestURI())
		}
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return localPath(r.URL.RequestURI())
	}
	if u, err := url.Parse(r.Referer()); err == nil && u.Host == r.Host {
		return localPath(u.RequestURI())
	}
	return "/"
}

// localPath answers path if it is an address on this site, else the home page.
// Browsers read \ as / and skip tabs and line ends, so all of them are refused.
func localPath(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsFunc(path, func(c rune) bool { return c <= ' ' || c == '\\' || c == 0x7f }) {
		return "/"
	}
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return "/"
	}
	return path
}

// requireSignIn lets accounts pass. Others are asked to sign in and brought
// back; a reviewer who came by link is kept to the reviews.
func (h *Handlers) requireSignIn(next http.Handler) http.Handler {
	return h.require(next, func(a policy.Actor) bool { return a.PersonID != 0 && !a.ByLink() })
}

// requireReviewer lets accounts and reviewers by link pass.
func (h *Handlers) requireReviewer(next http.Handler) http.Handler {
	return h.require(next, func(a policy.Actor) bool { return a.PersonID != 0 })
}

func (h *Handlers) require(next http.Handler, may func(policy.Actor) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := actor(r)
		if may(a) {
			next.ServeHTTP(w, r)
			return
		}
		h.page(func(w http.ResponseWriter, r *http.Request) error {
			reading := r.Method == http.MethodGet || r.Method == http.MethodHead
			switch {
			case a.ByLink() && reading:
				return h.redirect(w, r, "/reviews")
			case a.ByLink():
				return fault.Forbiddenf("fault.forbidden")
			}
			if _, err := r.Cookie(h.links.cookie); err == nil { // who came by link has no password to sign in with
				h.say(r, "review.session_over")
			}
			return h.redirect(w, r, "/login?next="+url.QueryEscape(pagePath(r)))
		})(w, r)
	})
}
