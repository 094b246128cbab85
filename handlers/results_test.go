package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ciclo/store/storetest"
)

// Only a closed cycle has results; a rating of nought counts, and nobody reads
// their own here.
func TestResultsOfAClosedCycle(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.HR)
	draft := s.company.Draft(t, "Resultado 2026.2", 6, 6)
	storetest.Exec(t, s.pool, `
		WITH asked AS (
			INSERT INTO form_versions (tenant_id, form_id, number, content)
			SELECT tenant_id, form_id, number + 1, jsonb_set(content, '{questions}', '[{"id": "nota", "kind": "rating", "weight": 100}]')
			FROM form_versions
			WHERE id = (SELECT form_version_id FROM cycles WHERE id = $1)
			RETURNING id
		)
		UPDATE cycles
		SET form_version_id = asked.id
		FROM asked
		WHERE cycles.id = $1`, draft)
	path := fmt.Sprintf("/cycles/%d/results", draft)
	weights := func(self, manager, peer, report, missing string) answer {
		return b.post(path, "weight-self", self, "weight-manager", manager, "weight-peer", peer, "weight-report", report, "missing", missing)
	}
	b.get(path).want(t, http.StatusOK, "Pares", "travados na ativação")
	weights("0", "0", "0", "0", "reweigh").want(t, http.StatusUnprocessableEntity, "Pelo menos uma perspectiva precisa de peso")
	weights("20", "101", "x", "0", "reweigh").want(t, http.StatusUnprocessableEntity, `value="101"`, `value="x"`, `class="error-summary"`)
	weights("20", "50", "30", "0", "later").want(t, http.StatusUnprocessableEntity)
	weights("20", "50", "30", "0", "reweigh").want(t, http.StatusSeeOther)
	if _, err := s.store.ActivateCycle(t.Context(), s.company.HR, draft); err != nil {
		t.Fatal(err)
	}
	weights("1", "1", "1", "1", "incomplete").want(t, http.StatusConflict)
	b.get(path).want(t, http.StatusOK, "Os resultados aparecem quando o ciclo é encerrado", "Pares 30", "as outras dividem o peso")

	storetest.Exec(t, s.pool, `
		WITH sent AS (
			UPDATE evaluations
			SET state = 'submitted', started_at = now(), submitted_at = now(), submitted_via = 'session'
			WHERE cycle_id = $1 AND id <> (SELECT max(id) FROM evaluations WHERE cycle_id = $1)
			RETURNING id, tenant_id
		)
		INSERT INTO answers (evaluation_id, tenant_id, content)
		SELECT id, tenant_id, '{"nota": {"rating": 0}}'
		FROM sent`, draft)
	if _, err := s.store.CloseCycle(t.Context(), s.company.HR, draft); err != nil {
		t.Fatal(err)
	}
	page := b.get(path)
	page.want(t, http.StatusOK, "1 avaliação pedida não foi enviada", "0,00", "incompleto")
	own := storetest.One[bool](t, s.pool, `SELECT EXISTS (SELECT FROM participants WHERE cycle_id = $1 AND person_id = $2)`, draft, s.company.HR.PersonID)
	if own != strings.Contains(page.body, "É sobre você") {
		t.Errorf("the HR manager takes part: %t; their own result is withheld: %t", own, !own)
	}
	b.get(path+"?q=ningu%C3%A9m").want(t, http.StatusOK, "Mostrar")
}
