package handlers

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/httprate"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"ciclo/internal/fault"
	"ciclo/internal/i18n"
)

type requestKey struct{}

// identifyRequest gives every request a short code that a person can read out,
// and knows the reader's language before anything can fail.
func (h *Handlers) identifyRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := rand.Text()[:10]
		w.Header().Set("X-Request-Id", id)
		ctx := context.WithValue(r.Context(), requestKey{}, id)
		ctx = i18n.With(ctx, preferredLocale(r, ""))
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func requestID(r *http.Request) string {
	id, _ := r.Context().Value(requestKey{}).(string)
	return id
}

// route is the pattern that matched, such as /r/{token}: never the path, which
// may hold a secret.
func route(r *http.Request) string {
	if c := chi.RouteContext(r.Context()); c != nil {
		return c.RoutePattern()
	}
	return ""
}

// logAccess writes one line a request and names the server's span, both by the
// matched pattern; a request that matched nothing is named by its method.
func (h *Handlers) logAccess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, ww := time.Now(), middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() {
			pattern := route(r)
			if pattern != "" && !strings.HasSuffix(pattern, "/*") {
				span := trace.SpanFromContext(r.Context())
				span.SetName(r.Method + " " + pattern)
				span.SetAttributes(attribute.String("http.route", pattern))
				if l, ok := otelhttp.LabelerFromContext(r.Context()); ok {
					l.Add(attribute.String("http.route", pattern))
				}
			}
			level := slog.LevelInfo
			if pattern == "/static/{file}" || pattern == "/healthz" || pattern == "/readyz" {
				level = slog.LevelDebug
			}
			h.log.Log(r.Context(), level, "request", "method", r.Method, "route", pattern, "status", ww.Status(),
				"bytes", ww.BytesWritten(), "took", time.Since(began).Round(time.Microsecond), "request_id", requestID(r))
		}()
		next.ServeHTTP(ww, r)
	})
}

// recoverPanic turns a panic into an apology; the stack goes to the log.
func (h *Handlers) recoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p)
			}
			h.log.ErrorContext(r.Context(), "panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()), "request_id", requestID(r), "route", route(r))
			if ww, ok := w.(middleware.WrapResponseWriter); ok && ww.Status() != 0 {
				panic(http.ErrAbortHandler) // half an answer is out: break the connection
			}
			h.fail(w, r, fmt.Errorf("panic: %v", p))
		}()
		next.ServeHTTP(w, r)
	})
}

// Content security: everything from us, nothing inline, no frames. The preview
// of a mail and the page that frames it loosen one directive each.
const policyBase = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "

func (h *Handlers) secureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policyBase+"frame-ancestors 'none'")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		header.Set("Cache-Control", "no-store")
		if h.https {
			header.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
		}
		next.ServeHTTP(w, r)
	})
}

// allowFrames lets this page hold frames of ours: the mail preview.
func allowFrames(w http.ResponseWriter) {
	w.Header().Set("Content-Security-Policy", policyBase+"frame-src 'self'; frame-ancestors 'none'")
}

// asFrame is the policy of a mail shown in a frame: no script at all, the
// styles that mails must carry inline, framed by us alone.
func asFrame(w http.ResponseWriter) {
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox")
}

// refuseCrossOrigin answers 403 in words to writes that another site's page
// caused. It goes by Sec-Fetch-Site and Origin, so no form carries a token, and
// a post over plain http with our own Origin passes.
func (h *Handlers) refuseCrossOrigin(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	// behind a proxy that rewrites Host, our own address is still our own
	if err := guard.AddTrustedOrigin(h.base.Scheme + "://" + h.base.Host); err != nil {
		h.log.Error("base url is no origin", "err", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := guard.Check(r); err != nil {
			h.fail(w, r, fault.Forbiddenf("fault.cross_origin"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// limitSignIns slows down one address of the network. It is generous, because a
// whole office may share one; the account's own limit is the narrow one.
func (h *Handlers) limitSignIns(next http.Handler) http.Handler {
	return httprate.LimitBy(300, time.Minute,
		func(r *http.Request) (string, error) { return h.clientIP(r).String(), nil },
		httprate.WithLimitHandler(h.page(func(http.ResponseWriter, *http.Request) error {
			return fault.New(fault.TooMany, "sign_in.network")
		})),
	)(next)
}

// clientIP is who is on the other side: the peer, or whom trusted proxies say
// they speak for. Only the part of X-Forwarded-For that such a proxy wrote counts.
func (h *Handlers) clientIP(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	ip, _ := netip.ParseAddr(host)
	ip = ip.Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && h.trusted(ip); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		ip = hop.Unmap()
	}
	return ip
}

func (h *Handlers) trusted(ip netip.Addr) bool {
	for _, p := range h.proxies {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}
