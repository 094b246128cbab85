package handlers

import (
	"net/http"
	"net/netip"

	"ciclo/store"
)

// OpensLink is a route that opens a session by review link for a person's
// reviews of a cycle, as the landing page does.
func (h *Handlers) OpensLink(tenant, person, cycle int64) http.Handler {
	return h.identifyRequest(h.identifyViewer(h.page(func(w http.ResponseWriter, r *http.Request) error {
		if err := h.beginLink(w, r, store.Session{TenantID: tenant, PersonID: person, CycleID: cycle}); err != nil {
			return err
		}
		return h.redirect(w, r, "/reviews")
	})))
}

// Reads is a route that reads a form as do says and answers its faults.
func (h *Handlers) Reads(do func(in Form)) http.Handler {
	return h.identifyRequest(h.page(func(w http.ResponseWriter, r *http.Request) error {
		in, err := readForm(r)
		if err != nil {
			return err
		}
		do(in)
		if err := in.Faults(); err != nil {
			return err
		}
		return h.answer(w, http.StatusOK, "text/plain", []byte("read"))
	}))
}

// Form is the form reader, for tests.
type Form = *form

// LocalPath, ListQuery and ContentDisposition are tested as they are.
var (
	LocalPath          = localPath
	ListQuery          = listQuery
	ContentDisposition = contentDisposition
)

// ClientIP is whom a request counts for.
func (h *Handlers) ClientIP(r *http.Request) netip.Addr { return h.clientIP(r) }
