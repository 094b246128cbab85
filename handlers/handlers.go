// Package handlers turns requests into answers. routes.go is its table of
// contents; each handler parses, makes one call to the store and answers.
//
// A handler returns an error and writes nothing on failure: render.go is the
// one place that turns faults into statuses and words, and every other error
// into an apology whose details go to the log alone. No handler decides what a
// person may do; it hands the actor to the store, which asks policy.
package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"ciclo/internal/links"
	"ciclo/store"
)

// Options is what the handlers need from the outside.
type Options struct {
	Store *store.Store
	Log   *slog.Logger
	// BaseURL is where people reach us; https makes cookies Secure.
	BaseURL string
	// Keys prove review links.
	Keys links.Ring
	// MailDomain stands after the @ in the Message-IDs of the mails we send.
	MailDomain string
	// TrustedProxies may say in X-Forwarded-For whom they speak for.
	TrustedProxies []netip.Prefix
	// Trace wraps everything, outermost; nil leaves it out.
	Trace func(http.Handler) http.Handler
	// Ready answers nil while requests are welcome; nil means the database's ping.
	Ready func(context.Context) error
	// More adds routes beside ours, such as the demo's mail pages; nil adds none.
	More func(chi.Router)
}

// Handlers answers every request of the product.
type Handlers struct {
	store    *store.Store
	log      *slog.Logger
	domain   string // of Message-IDs
	https    bool
	base     *url.URL
	proxies  []netip.Prefix
	trace    func(http.Handler) http.Handler
	ready    func(context.Context) error
	more     func(chi.Router)
	keys     links.Ring
	accounts *sessionStore
	links    *sessionStore
}

// New checks the options and returns the handlers.
func New(o Options) (*Handlers, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("base url %q: want http://host or https://host", o.BaseURL)
	}
	if o.Store == nil {
		return nil, errors.New("handlers need a store")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Handlers{
		store:   o.Store,
		log:     o.Log,
		https:   base.Scheme == "https",
		base:    base,
		proxies: o.TrustedProxies,
		trace:   o.Trace,
		ready:   o.Ready,
		more:    o.More,
		keys:    o.Keys,
		domain:  o.MailDomain,
	}
	if h.ready == nil {
		h.ready = o.Store.Ping
	}
	h.accounts = newSessionStore(o.Store, "ciclo", h.https)
	h.links = newSessionStore(o.Store, "ciclo-review", h.https)
	return h, nil
}

// URL answers the full address of a path, for what leaves the building.
func (h *Handlers) URL(path string) string {
	return strings.TrimSuffix(h.base.String(), "/") + path
}
