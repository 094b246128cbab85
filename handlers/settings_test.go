package handlers_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ciclo/internal/outbox"
	"ciclo/store/storetest"
	"ciclo/views"
)

func TestSettingsKeepWhatWasTyped(t *testing.T) {
	s := newSite(t)
	storetest.NewCompany(t, s.pool, "Outra Empresa", 2)
	b := s.as(s.company.Admin)
	b.get("/settings").want(t, http.StatusOK, "Transportes Aroeira", "rh@example.test", "America/Sao_Paulo")
	good := map[string]string{"name": "Aroeira Cargas", "zone": "America/Manaus", "locale": "en", "contact": "gente@example.test", "reply_to": "resposta@example.test", "hold": "10"}
	send := func(change ...string) answer {
		pairs := []string{}
		for name, v := range good {
			if i := slices.Index(change, name); i >= 0 {
				v = change[i+1]
			}
			pairs = append(pairs, name, v)
		}
		return b.post("/settings", pairs...)
	}
	for _, tt := range []struct{ field, typed, cause string }{
		{"name", "", "Preencha este campo"},
		{"name", strings.Repeat("x", 201), "no máximo 200"},
		{"name", "Outra Empresa", "f-name-e"},
		{"zone", "America/Atlantida", "America/Atlantida"},
		{"zone", "../../etc/passwd", "f-zone-e"},
		{"locale", "fr", "f-locale-e"},
		{"contact", "sem arroba", "f-contact-e"},
		{"reply_to", "a@b@c", "f-reply_to-e"},
		{"hold", "1441", "de 0 a 1.440"},
		{"hold", "dez", "f-hold-e"},
	} {
		got := send(tt.field, tt.typed).want(t, http.StatusUnprocessableEntity, tt.cause)
		if tt.field != "locale" && tt.typed != "" && !strings.Contains(got.body, `value="`+tt.typed+`"`) && tt.field != "zone" {
			t.Errorf("%s %q is not kept", tt.field, tt.typed)
		}
	}
	send().want(t, http.StatusSeeOther)
	b.get("/settings").want(t, http.StatusOK, `value="Aroeira Cargas"`, `value="10"`, `value="resposta@example.test"`)
	if got := storetest.One[string](t, s.pool, `SELECT detail ->> 'zone' FROM audit_entries WHERE act = 'settings.changed'`); got != "America/Sao_Paulo → America/Manaus" {
		t.Errorf("the audit says %q", got)
	}

	b.post("/settings/test").want(t, http.StatusSeeOther)
	b.post("/settings/test").want(t, http.StatusConflict)
	letter := s.letterFor(outbox.TestMessage)
	if letter.Contact != "resposta@example.test" || letter.PersonID != s.company.Admin.PersonID || letter.Organisation != "Aroeira Cargas" {
		t.Errorf("the test message says %+v", letter.Letter)
	}
}

func TestTheCalendarIsTheOrganisations(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.Admin)
	b.get("/settings/calendar?year=2026").want(t, http.StatusOK, "Sexta-feira Santa", "Carnaval", "Corpus Christi", "Consciência Negra")
	b.post("/settings/calendar").want(t, http.StatusUnprocessableEntity, "pelo menos um dia")
	b.post("/settings/calendar", "day", "8").want(t, http.StatusUnprocessableEntity)
	b.post("/settings/calendar", "day", "1", "day", "6", "national", "on").want(t, http.StatusSeeOther)
	page := b.get("/settings/calendar?year=2026").want(t, http.StatusOK, "Sexta-feira Santa")
	if strings.Contains(page.body, "Corpus Christi</span>") {
		t.Error("a day that is switched off is listed")
	}
	for _, tt := range []struct{ day, name, cause string }{
		{"", "Festa", "Preencha este campo"},
		{"2026-07-09", "", "Preencha este campo"},
		{"31/02/2026", "Festa", "31/02/2026"},
		{"2026-07-09", strings.Repeat("x", 121), "no máximo 120"},
	} {
		b.post("/settings/holidays", "date", tt.day, "holiday", tt.name).want(t, http.StatusUnprocessableEntity, tt.cause)
	}
	b.post("/settings/holidays", "date", "2026-07-09", "holiday", "Revolução").want(t, http.StatusSeeOther)
	b.post("/settings/holidays", "date", "2026-07-09", "holiday", "Revolução de 32").want(t, http.StatusSeeOther)
	b.get("/settings/calendar?year=2026").want(t, http.StatusOK, "Revolução de 32")
	b.post("/settings/holidays/2026-07-09/removal").want(t, http.StatusSeeOther)
	b.post("/settings/holidays/2026-07-09/removal").want(t, http.StatusNotFound)
	b.post("/settings/holidays/ontem/removal").want(t, http.StatusNotFound)
}

func TestRolesAreGivenOnThePage(t *testing.T) {
	s := newSite(t)
	who := s.company.People[4]
	path := fmt.Sprintf("/people/%d/roles", who)
	b := s.as(s.company.Admin)
	b.get(path).want(t, http.StatusOK, "Érica 5", "nenhuma função", "Logística")
	b.post(path, "role", "", "scope", "").want(t, http.StatusUnprocessableEntity, "f-role-e")
	b.post(path, "role", "hr_partner", "scope", "").want(t, http.StatusUnprocessableEntity, "Diga sobre quem")
	b.post(path, "role", "hr_partner", "scope", "department", "department", "Nenhum").want(t, http.StatusUnprocessableEntity, "f-department-e")
	b.post(path, "role", "hr_partner", "scope", "department", "department", "Logística").want(t, http.StatusSeeOther)
	b.get(path).want(t, http.StatusOK, "Parceria de RH", "departamento Logística", "Tirar: Parceria de RH")
	b.get("/settings/roles").want(t, http.StatusOK, "Érica 5", "departamento Logística", "Bruno 2")
	b.get("/settings/roles?q=erica").want(t, http.StatusOK, "1 função")
	own := fmt.Sprintf("/people/%d/roles", s.company.Admin.PersonID)
	b.get(own).want(t, http.StatusOK, "Ninguém dá ou tira uma função de si mesmo")
	b.post(own, "role", "hr_manager", "scope", "").want(t, http.StatusForbidden, "si mesmo")
	grant := storetest.One[int64](t, s.pool, `SELECT id FROM grants WHERE person_id = $1`, s.company.Admin.PersonID)
	b.post(fmt.Sprintf("%s/%d/removal", own, grant)).want(t, http.StatusForbidden)
}

func TestTheAuditIsReadInWords(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.Admin)
	s.as(s.company.Actor(4))
	path := fmt.Sprintf("/people/%d", s.company.People[5])
	b.post(path+"/roles", "role", "hr_partner", "scope", "department", "department", "Logística").want(t, http.StatusSeeOther)
	b.post(path+"/address", "email", "novo@example.test").want(t, http.StatusSeeOther)
	page := b.get("/settings/audit").want(t, http.StatusOK, "Deu uma função", "função: Parceria de RH", "Endereço corrigido", "agora: novo@example.test", "Entrou", "Fábio 6")
	if fragment := b.htmx().get("/settings/audit").want(t, http.StatusOK); !strings.Contains(page.body, strings.TrimSpace(fragment.body)) {
		t.Error("the page does not contain the fragment")
	}
	b.get("/settings/audit?act=role.given").want(t, http.StatusOK, "1 registro")
	b.get("/settings/audit?q=erica").want(t, http.StatusOK, "1 registro", "Érica 5")
	b.get("/settings/audit?from=2090-01-01").want(t, http.StatusOK, "Nada com esses filtros")
	today := time.Now().In(time.FixedZone("", -3*3600)).Format(time.DateOnly)
	b.get("/settings/audit?act=role.given&from="+today+"&to="+today).want(t, http.StatusOK, "1 registro")
	b.get("/settings/audit?to=2020-01-01").want(t, http.StatusOK, "nenhum registro")
	b.get("/settings/audit?from=ontem&act=%27").want(t, http.StatusOK)
	b.get("/settings/audit?q=%00").want(t, http.StatusUnprocessableEntity)
	b.with("Accept-Language", "en").get("/settings/audit").want(t, http.StatusOK)
}

// Whatever the store writes into the audit has words on the page.
func TestEveryActHasItsWords(t *testing.T) {
	files, err := filepath.Glob("../store/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	written := regexp.MustCompile(`audit\(ctx, tx, [^"]*?(?:\{[^}]*\}, )?"([a-z_]+(?:\.[a-z_]+)*)", "[a-z_]+"|\bact :?= "([a-z_.]+)"|'((?:message|sign_in|sign_out|review_link)[a-z_.]*\.?[a-z_]*)', '(?:message|person)'|noteRole\(ctx, tx, by, "([a-z_.]+)"`)
	found := 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range written.FindAllStringSubmatch(string(b), -1) {
			act := m[1] + m[2] + m[3] + m[4]
			found++
			if !slices.Contains(views.AuditActs, act) {
				t.Errorf("%s writes %s, which views.AuditActs does not name", name, act)
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d acts found: the test reads too little", found)
	}
}

func TestATeamIsCountedForItsManager(t *testing.T) {
	s := newSite(t)
	cycle := s.company.Draft(t, "Ciclo da equipe", 12, 6)
	if _, err := s.store.ActivateCycle(t.Context(), s.company.HR, cycle); err != nil {
		t.Fatal(err)
	}
	ana := s.as(s.company.Admin) // everybody reports to her
	ana.get("/").want(t, http.StatusOK, `href="/team"`, "Sua equipe: 5 pessoas ainda têm avaliações por enviar")
	ana.get("/team").want(t, http.StatusOK, "11 pessoas", "Ciclo da equipe", "faltam 5 pessoas", "Bruno 2", "faltam 2", "não avalia ninguém", "0 de 2")
	storetest.Exec(t, s.pool, `UPDATE cycles SET due_at = now() - interval '1 hour' WHERE id = $1`, cycle)
	ana.get("/team").want(t, http.StatusOK, "5 pessoas em atraso", "2 em atraso")
	storetest.Exec(t, s.pool, `UPDATE people SET left_on = '2026-01-31' WHERE id = $1`, s.company.People[2])
	if got := ana.get("/team").want(t, http.StatusOK, "10 pessoas"); strings.Contains(got.body, "Carla 3") {
		t.Error("somebody who has left is in the team")
	}
	nobodys := s.as(s.company.Actor(4)).get("/team").want(t, http.StatusOK, "Ninguém responde a você")
	if strings.Contains(nobodys.body, `class="nav__link" href="/team"`) {
		t.Error("the navigation leads somebody without a team to it")
	}
}
