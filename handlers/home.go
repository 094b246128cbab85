package handlers

import (
	"net/http"

	"ciclo/internal/outbox"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/views"
)

// showHome answers GET /: what needs me now.
func (h *Handlers) showHome(w http.ResponseWriter, r *http.Request) error {
	home, err := h.store.NeedsMe(r.Context(), actor(r))
	if err != nil {
		return err
	}
	return h.show(w, r, views.HomePage(homeOf(home)), nil)
}

func homeOf(home store.Home) views.Home {
	v := views.Home{Now: home.Now, Failed: home.Failed, Unset: home.Unset, Team: teamCycles(home.Team)}
	for _, d := range home.Reviews {
		v.Reviews = append(v.Reviews, views.DueReviews(d))
	}
	for _, c := range home.Cycles {
		v.Cycles = append(v.Cycles, views.OpenCycle(c))
	}
	return v
}

// counts are the figures of the navigation. A page does not fail for them.
func (h *Handlers) counts(r *http.Request) views.Counts {
	a := actor(r)
	if a.PersonID == 0 || a.ByLink() {
		return views.Counts{}
	}
	c, err := h.store.WaitingFor(r.Context(), a)
	if err != nil {
		h.log.WarnContext(r.Context(), "navigation without counts", "err", err, "request_id", requestID(r))
	}
	return views.Counts{Reviews: c.Reviews, Failed: c.Failed, Team: c.Team}
}

// sending is what the banner says to those who may see messages. A page does
// not fail for it.
func (h *Handlers) sending(r *http.Request) (s outbox.Sending) {
	a := actor(r)
	if !policy.May(a, policy.SeeMessages) {
		return s
	}
	s, err := h.store.Sending(r.Context(), a)
	if err != nil {
		h.log.WarnContext(r.Context(), "page without a word on sending", "err", err, "request_id", requestID(r))
		return outbox.Sending{}
	}
	return s
}
