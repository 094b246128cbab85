package handlers

import (
	"net/http"

	"ciclo/store"
	"ciclo/views"
)

// showTeam answers GET /team: how those who report to the viewer stand.
func (h *Handlers) showTeam(w http.ResponseWriter, r *http.Request) error {
	cycles, size, err := h.store.Team(r.Context(), actor(r))
	if err != nil {
		return err
	}
	return h.show(w, r, views.TeamPage(size, teamCycles(cycles)), nil)
}

func teamCycles(cycles []store.TeamCycle) []views.TeamCycle {
	shown := make([]views.TeamCycle, len(cycles))
	for i, c := range cycles {
		shown[i] = views.TeamCycle{ID: c.ID, Name: c.Name, DueAt: c.DueAt, DueZone: c.DueZone, Over: c.Over, Open: c.Open(), Late: c.Late()}
		for _, m := range c.Members {
			shown[i].Members = append(shown[i].Members, views.TeamMember(m))
		}
	}
	return shown
}
