package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ciclo/store/storetest"
)

func TestTheDirectoryIsSearchedAndFiltered(t *testing.T) {
	s := newSite(t)
	storetest.Exec(t, s.pool, `UPDATE people SET left_on = '2026-01-31' WHERE id = $1`, s.company.People[4])
	b := s.as(s.company.HR)
	page := b.get("/people").want(t, http.StatusOK, "12 pessoas", "Érica 5", "desligada em 31 jan 2026", "1–12 de 12", "Importar pessoas")
	if fragment := b.htmx().get("/people").want(t, http.StatusOK); !strings.Contains(page.body, strings.TrimSpace(fragment.body)) {
		t.Error("the page does not contain the fragment")
	}
	b.get("/people?q=ERICA").want(t, http.StatusOK, "Érica 5", "1 de 12 pessoas")
	b.get("/people?situation=left").want(t, http.StatusOK, "1 de 12 pessoas")
	b.get("/people?department=Log%C3%ADstica&sort=-name").want(t, http.StatusOK, "6 de 12 pessoas", `aria-sort="descending"`)
	b.get("/people?q=ninguem").want(t, http.StatusOK, "Ninguém com esses filtros", "Ver todas as pessoas")
	// rows have gone since the address was kept: the last page, not "nobody yet"
	if got := b.get("/people?sort=code&page=99").want(t, http.StatusSeeOther).location; got != "/people?sort=code" {
		t.Errorf("a page beyond the last leads to %s", got)
	}
	b.get("/people?q=%00").want(t, http.StatusUnprocessableEntity)
	b.get("/people?q=%E2%80%AE").want(t, http.StatusUnprocessableEntity)
	b.get("/people?q=%27%25_").want(t, http.StatusOK)
}

func TestARecordLeadsUpAndDown(t *testing.T) {
	s := newSite(t)
	storetest.Exec(t, s.pool, `UPDATE people SET attributes = '{"Cidade": "São Paulo"}', email = NULL WHERE id = $1`, s.company.People[0])
	b := s.as(s.company.HR)
	b.get(fmt.Sprintf("/people/%d", s.company.People[0])).want(t, http.StatusOK, "<h1>Ana 1</h1>", "Bruno 2", "11 pessoas", "São Paulo", "Admin", "sem e-mail")
	b.get(fmt.Sprintf("/people/%d", s.company.People[1])).want(t, http.StatusOK, fmt.Sprintf(`href="/people/%d"`, s.company.People[0]), "ninguém responde a esta pessoa")
}
