package handlers_test

import (
	"net/http"
	"testing"
)

func TestSignIn(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.get("/").want(t, http.StatusSeeOther)
	b.get("/login").want(t, http.StatusOK, "<h1>Entrar</h1>", `lang="pt-BR"`)
	b = s.as(s.company.HR)
	b.get("/").want(t, http.StatusOK, "O que precisa de você", "Transportes Aroeira", "/cycles")
}
