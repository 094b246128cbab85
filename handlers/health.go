package handlers

import "net/http"

// healthz answers GET /healthz: the process lives. It asks nobody.
func (h *Handlers) healthz(w http.ResponseWriter, _ *http.Request) {
	_ = h.answer(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
}
