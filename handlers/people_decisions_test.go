package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ciclo/store/storetest"
)

func TestAPersonDecidesOverThePages(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.HR)
	path := b.preview(t, "Matrícula;Nome;E-mail;Gestor\nX1;Xavier;;\n3;Carla 3;;\n4;Outra;;\nX9;Nona;p5@1.example.test;\n")
	page := b.get(path).want(t, http.StatusOK, "3 linhas esperam a sua decisão", `href="`+path+`/decisions"`, "Importar uma pessoa", "Deixar de fora as 3 linhas sem decisão")
	if strings.Contains(page.body, "Nada muda") {
		t.Error("a file with open lines is called without change")
	}
	b.get(path+"?r=decide").want(t, http.StatusOK, "3 de 4 linhas", "E-mail “p5@1.example.test”: já é de alguém com outra matrícula. Quem é?")
	likely := fmt.Sprintf(`name="line-3-zeros" value="same:%d" checked`, s.company.People[2])
	b.get(path+"/decisions").want(t, http.StatusOK, likely, "Os zeros sumiram: são as mesmas pessoas (2)", "Outra pessoa: entra sem o e-mail, que continua de", "Linha 4: Outra")
	b.with("Accept-Language", "en").get(path+"/decisions").want(t, http.StatusOK)

	b.post(path+"/confirmation").want(t, http.StatusConflict, "Há linhas que esperam a sua decisão: 3")
	b.post(path+"/decisions").want(t, http.StatusUnprocessableEntity, "Nada foi escolhido")
	b.post(path+"/decisions", "line-4-zeros", "same:999999").want(t, http.StatusUnprocessableEntity, "A linha 4 não oferece essa escolha")
	b.post(path+"/decisions", "all", "nonsense").want(t, http.StatusUnprocessableEntity)
	b.post(path+"/decisions", "line-x-zeros", "new", "lines", "new").want(t, http.StatusUnprocessableEntity, "Nada foi escolhido")
	b.post(path+"/decisions", "line-4-zeros", "n\x00w").want(t, http.StatusUnprocessableEntity)

	if got := b.post(path+"/decisions", "line-4-zeros", "new").want(t, http.StatusSeeOther).location; got != path+"/decisions" {
		t.Errorf("with lines open, the answer leads to %s", got)
	}
	b.get(path+"/decisions").want(t, http.StatusOK, "Guardado. Faltam 2 linhas.", `name="line-4-zeros" value="new" checked`)
	b.post(path+"/decisions", "all", "zeros").want(t, http.StatusSeeOther)
	if got := b.post(path+"/decisions", "line-5-address", "without").want(t, http.StatusSeeOther).location; got != path {
		t.Errorf("once all is decided, the answer leads to %s", got)
	}
	b.get(path).want(t, http.StatusOK, "Importar 3 pessoas", "4 só difere por zeros da matrícula de outra pessoa")
	b.post(path+"/confirmation").want(t, http.StatusSeeOther)
	b.get(path+"/decisions").want(t, http.StatusSeeOther)
	b.post(path+"/decisions", "all", "again").want(t, http.StatusConflict)
	if n := storetest.One[int](t, s.pool, `SELECT count(*) FROM people WHERE code IN ('X1', '4', 'X9', '000003', '000004')`); n != 5 {
		t.Errorf("%d people of five", n)
	}
}

func TestOpenLinesAreLeftOutByTickingABox(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.HR)
	path := b.preview(t, "Matrícula;Nome\nX1;Xavier\n4;Outra\n")
	b.get(path+"/confirmation").want(t, http.StatusOK, `name="leave_out"`, "Deixar de fora a linha sem decisão")
	b.post(path+"/confirmation", "leave_out", "on").want(t, http.StatusSeeOther)
	b.get(path).want(t, http.StatusOK, "Uma linha ficou de fora")
	b.get(path+"/rejects").want(t, http.StatusOK, "4;Outra;Matrícula “4”: você deixou esta linha de fora.")
}
