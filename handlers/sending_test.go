package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ciclo/store/storetest"
)

func TestPausingSaysWhoAndWhyOnEveryPage(t *testing.T) {
	s := newSite(t)
	cycle, _ := s.asked("Avaliação 2026.2", 3)
	b := s.as(s.company.HR)
	b.get("/deliveries").want(t, http.StatusOK, "Controle do envio", "Nenhum processo está enviando mensagens")
	b.get("/deliveries/pause?queue=handout").want(t, http.StatusNotFound)
	b.get("/deliveries/pause?queue=mail").want(t, http.StatusOK, "Pausar convites e lembretes?")
	b.post("/deliveries/pause", "queue", "mail", "reason", "").want(t, http.StatusUnprocessableEntity, "Diga o motivo: quem espera", `class="error-summary"`)
	b.post("/deliveries/pause", "queue", "mail", "reason", strings.Repeat("x", 501)).want(t, http.StatusUnprocessableEntity, "no máximo 500 caracteres", strings.Repeat("x", 501))
	b.post("/deliveries/pause", "queue", "mail", "reason", "texto <errado>").want(t, http.StatusSeeOther)
	for _, path := range []string{"/deliveries", fmt.Sprintf("/cycles/%d/receipt", cycle), "/"} {
		b.get(path).want(t, http.StatusOK, "O envio de convites e lembretes está pausado", "texto &lt;errado&gt;", s.company.HR.Name+" pausou")
	}
	b.post("/deliveries/pause", "queue", "mail", "reason", "outra vez").want(t, http.StatusConflict, "já pausou este envio")
	b.post("/deliveries/resume", "queue", "mail").want(t, http.StatusSeeOther)
	if got := b.get("/deliveries"); strings.Contains(got.body, "está pausado") {
		t.Error("the banner stays after resuming")
	}
	b.post("/deliveries/resume", "queue", "mail").want(t, http.StatusConflict, "não está pausado")
}

func TestUndoingAnActivation(t *testing.T) {
	s := newSite(t)
	storetest.Exec(t, s.pool, `UPDATE tenants SET hold_minutes = 10`)
	b := s.as(s.company.HR)
	draft := s.company.Draft(t, "Depois", 3, 3)
	b.get(fmt.Sprintf("/cycles/%d/activation", draft)).want(t, http.StatusOK, "daqui a 10 minutos", "Dá para desfazer por 10 minutos.")
	cycle, events := s.asked("Avaliação 2026.2", 3)
	url := fmt.Sprintf("/cycles/%d/activation/undo", cycle)
	b.get(fmt.Sprintf("/cycles/%d/receipt", cycle)).want(t, http.StatusOK, "As mensagens saem em", "Desfazer a ativação")
	b.get(url).want(t, http.StatusOK, "3 mensagens são retiradas", "O ciclo volta a ser rascunho")
	s.become(`status = 'processing', attempts = 1`, events[0])
	b.post(url).want(t, http.StatusConflict, "pelo menos uma mensagem já saiu")
	b.get(url).want(t, http.StatusSeeOther)
	s.become(`status = 'pending', attempts = 0`, events[0])
	b.post(url).want(t, http.StatusSeeOther)
	b.get(fmt.Sprintf("/cycles/%d/rehearsal", cycle)).want(t, http.StatusOK, "Ativação desfeita", "Ativar ciclo")
	b.post(url).want(t, http.StatusConflict, "é um rascunho")
}
