package handlers

import "net/http"

// healthz answers GET /healthz: the process lives. It asks nobody.
func (h *Handlers) healthz(w http.ResponseWriter, _ *http.Request) {
	_ = h.answer(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
}

// readyz answers GET /readyz: 200 while requests are welcome, 503 while the
// database is away or too old, and while this process is stopping. The reason
// is in the log; a balancer needs none.
func (h *Handlers) readyz(w http.ResponseWriter, r *http.Request) {
	if err := h.ready(r.Context()); err != nil {
		h.log.WarnContext(r.Context(), "not ready", "error", err)
		_ = h.answer(w, http.StatusServiceUnavailable, "text/plain; charset=utf-8", []byte("not ready\n"))
		return
	}
	_ = h.answer(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ready\n"))
}
