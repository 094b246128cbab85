package handlers_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"ciclo/handlers"
	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
	"ciclo/store/storetest"
)

// asked makes an active cycle of Bruno's that asks n reviewers, and answers its
// events in the order of the people.
func (s *site) asked(name string, n int) (cycle int64, events []int64) {
	s.t.Helper()
	cycle = s.company.Draft(s.t, name, n, n)
	if _, err := s.store.ActivateCycle(s.t.Context(), s.company.HR, cycle); err != nil {
		s.t.Fatal(err)
	}
	rows, _ := s.pool.Query(s.t.Context(), `SELECT id FROM outbox_events WHERE cycle_id = $1 ORDER BY person_id`, cycle)
	events, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(events) != n {
		s.t.Fatalf("%d events (%v), want %d", len(events), err, n)
	}
	return cycle, events
}

// fail makes messages failed as the relay does after a refusal.
func (s *site) fail(cause outbox.Cause, reply string, ids ...int64) {
	s.t.Helper()
	storetest.Exec(s.t, s.pool, `
		WITH refused AS (
			UPDATE outbox_events
			SET status = 'failed', attempts = attempts + 1, last_error = @reply, cause = @cause, updated_at = now()
			WHERE id = ANY (@ids)
			RETURNING tenant_id, id, attempts, person_id
		)
		INSERT INTO delivery_attempts (tenant_id, event_id, attempt, class, cause, phase, address, error, took_ms)
		SELECT r.tenant_id, r.id, r.attempts, 'permanent', @cause, 'rcpt', p.email, @reply, 412
		FROM refused r
		JOIN people p ON p.id = r.person_id`, pgx.NamedArgs{"ids": ids, "cause": cause, "reply": reply})
}

// become puts messages into another state of the outbox.
func (s *site) become(set string, ids ...int64) {
	s.t.Helper()
	storetest.Exec(s.t, s.pool, `UPDATE outbox_events SET updated_at = now(), `+set+` WHERE id = ANY ($1)`, ids)
}

func (s *site) row(id int64) string {
	s.t.Helper()
	return storetest.One[string](s.t, s.pool, `
		SELECT status || ' ' || attempts || '/' || max_attempts || ' ' || queue || CASE WHEN cancel_requested THEN ' cancel asked' ELSE '' END
		FROM outbox_events
		WHERE id = $1`, id)
}

const refusal = "550 5.1.1 <x@errado.test>: Recipient address rejected: User unknown"

func TestMessagesByStateAndCause(t *testing.T) {
	s := newSite(t)
	cycle, e := s.asked("Avaliação 2026.2", 10)
	s.fail(outbox.CauseAddress, refusal, e[0], e[1])
	s.fail(outbox.CauseMailboxFull, "452 4.2.2 Mailbox full", e[2])
	s.become(`attempts = 2, cause = 'slow', last_error = '450 4.7.1 Greylisted', available_at = now() + interval '4 minutes'`, e[3])
	s.become(`status = 'processing', attempts = 1`, e[4])
	s.become(`status = 'delivered', attempts = 1, delivered_at = now()`, e[5], e[6])
	s.become(`status = 'cancelled', status_reason = 'saiu da empresa'`, e[7])
	s.become(`queue = 'handout'`, e[8])
	b := s.as(s.company.HR)
	of := fmt.Sprintf("cycle=%d&", cycle)
	for _, tt := range []struct {
		query string
		rows  []int64
		words []string
	}{
		{"", []int64{e[0], e[1], e[2]}, []string{"Endereço não existe", "Caixa cheia", "User unknown", "Enviar de novo as 3", "deliveries-live", "10 mensagens deste ciclo", "1 de 5"}},
		{"cause=address", []int64{e[0], e[1]}, []string{"Corrigir e reenviar"}},
		{"cause=mailbox_full", []int64{e[2]}, []string{"Enviar a mensagem de novo"}},
		{"q=carla", []int64{e[2]}, nil},
		{"q=nobody", nil, []string{"Nenhuma mensagem com este filtro"}},
		{"state=retrying", []int64{e[3]}, []string{"Servidor pediu para esperar", "Próxima tentativa: "}},
		{"state=queued", []int64{e[9]}, []string{"Espera a vez desde"}},
		{"state=sending", []int64{e[4]}, []string{"Sendo enviada"}},
		{"state=accepted", []int64{e[5], e[6]}, []string{"Aceita pelo servidor de e-mail"}},
		{"state=cancelled", []int64{e[7]}, []string{"saiu da empresa"}},
		{"state=handout", []int64{e[8]}, []string{"Marcar como entregue em mãos"}},
		{"state=handed", nil, []string{"Nenhum convite entregue em mãos ainda"}},
	} {
		t.Run(tt.query, func(t *testing.T) {
			got := b.get("/deliveries?"+of+tt.query).want(t, http.StatusOK, tt.words...)
			if n := strings.Count(got.body, `<tr id="message-`); n != len(tt.rows) {
				t.Errorf("%d rows, want %d", n, len(tt.rows))
			}
			for _, id := range tt.rows {
				if !strings.Contains(got.body, fmt.Sprintf(`<tr id="message-%d">`, id)) {
					t.Errorf("message %d is missing", id)
				}
			}
			// the same address gives htmx the panel that stands in the page
			panel := b.htmx().get("/deliveries?" + of + tt.query)
			if strings.Contains(panel.body, "<html") || !strings.HasPrefix(panel.body, `<div class="stack stack--page" id="deliveries">`) {
				t.Errorf("the fragment is\n%.200s", panel.body)
			}
			if panel.body != between(got.body, panel.body) && !strings.Contains(ageless(got.body), ageless(panel.body)) {
				t.Error("the page does not hold the fragment")
			}
		})
	}
	for _, bad := range []string{"state=gone", "cause=because", "cycle=0", "cycle=x", "cycle=999999"} {
		b.get("/deliveries?"+bad).want(t, http.StatusNotFound)
	}
	b.get("/deliveries?q=%00").want(t, http.StatusUnprocessableEntity)
	b.get("/deliveries?page=99999&sort=-name").want(t, http.StatusOK, "Carla 3")
	if english := b.with("Accept-Language", "en").get("/deliveries"); !strings.Contains(english.body, "What happened") {
		t.Error("the page speaks no English")
	}
}

// between answers the part of whole that looks like part, by its first 40 bytes.
func between(whole, part string) string {
	if i := strings.Index(whole, part); i >= 0 {
		return whole[i : i+len(part)]
	}
	return ""
}

var seconds = regexp.MustCompile(`há \d+ segundos?|às \d\d:\d\d`)

func ageless(s string) string { return seconds.ReplaceAllString(s, "…") }

func TestMessagesBeforeAnyCycle(t *testing.T) {
	s := newSite(t)
	got := s.as(s.company.HR).get("/deliveries").want(t, http.StatusOK, "Nenhuma mensagem ainda", `href="/cycles"`)
	if strings.Contains(got.body, "deliveries-live") {
		t.Error("the page asks again although nothing can change")
	}
	if got := s.as(s.company.Admin).get("/deliveries").want(t, http.StatusOK, "Nenhuma mensagem ainda"); strings.Contains(got.body, ">Ver os ciclos<") {
		t.Error("an admin is sent to pages that are not theirs")
	}
}

func TestMessagesOfOthersDoNotExist(t *testing.T) {
	s := newSite(t)
	cycle, e := s.asked("Avaliação 2026.2", 4)
	s.fail(outbox.CauseAddress, refusal, e[0])
	foreign := storetest.NewCompany(t, s.pool, "Peroba", 3)
	storetest.Exec(t, s.pool, `INSERT INTO grants (tenant_id, person_id, role) VALUES ($1, $2, 'hr_manager')`, s.company.Tenant, s.company.People[4])
	id, before := e[0], s.row(e[0])
	paths := []string{"", "/cancellation", "/retry", "/resend", "/handover"}
	for _, tt := range []struct {
		name string
		b    *browser
		want int
	}{
		{"a foreign admin", s.as(foreign.Admin), http.StatusNotFound},
		{"another HR manager", s.as(s.company.Actor(4, policy.HRManager)), http.StatusNotFound},
		{"a reviewer", s.as(s.company.Actor(5)), http.StatusForbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range paths[:2] {
				tt.b.get(fmt.Sprintf("/deliveries/%d%s", id, path)).want(t, tt.want)
			}
			for _, path := range paths[1:] {
				tt.b.post(fmt.Sprintf("/deliveries/%d%s", id, path), "reason", "x", "email", "x@example.test").want(t, tt.want)
			}
			tt.b.get(fmt.Sprintf("/deliveries?cycle=%d", cycle)).want(t, tt.want)
			tt.b.post("/deliveries/retry", "id", fmt.Sprint(id)).want(t, tt.want)
			tt.b.post("/deliveries/retry", "all", "1", "cycle", fmt.Sprint(cycle)).want(t, tt.want)
			if got := s.row(id); got != before {
				t.Errorf("the message became %q", got)
			}
		})
	}
	b := s.as(s.company.HR)
	for _, forged := range []string{"0", "-1", "01", "x", "99999999999999999999", "999999"} {
		b.get("/deliveries/"+forged).want(t, http.StatusNotFound)
		b.post("/deliveries/"+forged+"/retry").want(t, http.StatusNotFound)
	}
	b.post("/deliveries/retry", "id", fmt.Sprint(id), "id", "x").want(t, http.StatusUnprocessableEntity)
	b.post("/deliveries/retry", "id", fmt.Sprint(id), "id", "999999").want(t, http.StatusNotFound)
	b.post("/deliveries/retry").want(t, http.StatusUnprocessableEntity, "Nenhuma mensagem selecionada")
	b.post("/deliveries/retry", "all", "1", "cause", "x").want(t, http.StatusUnprocessableEntity)
	if got := s.row(id); got != before {
		t.Errorf("the message became %q", got)
	}
	if got := s.browser().get(fmt.Sprintf("/deliveries/%d", id)); got.status != http.StatusSeeOther || !strings.HasPrefix(got.location, "/login") {
		t.Errorf("who is not signed in gets %d to %q", got.status, got.location)
	}
}

func TestRetryOneChosenAndAll(t *testing.T) {
	s := newSite(t)
	cycle, e := s.asked("Avaliação 2026.2", 8)
	s.fail(outbox.CauseAddress, refusal, e[0], e[1], e[2], e[3])
	s.fail(outbox.CauseMailboxFull, "452 4.2.2 Mailbox full", e[4], e[5])
	b := s.as(s.company.HR)
	list := fmt.Sprintf("/deliveries?cycle=%d", cycle)

	got := b.post(fmt.Sprintf("/deliveries/%d/retry", e[0]), "next", list).want(t, http.StatusSeeOther)
	if got.location != list || s.row(e[0]) != "pending 1/6 mail" {
		t.Errorf("sent again: %q, the row is %q", got.location, s.row(e[0]))
	}
	b.get(list).want(t, http.StatusOK, "A mensagem vai sair de novo, com mais cinco tentativas.")
	b.post(fmt.Sprintf("/deliveries/%d/retry", e[0])).want(t, http.StatusConflict, "Esta mensagem não está parada")
	if got := b.post(fmt.Sprintf("/deliveries/%d/retry", e[1]), "next", "https://evil.test/deliveries"); got.location != fmt.Sprintf("/deliveries/%d", e[1]) {
		t.Errorf("sent to %q", got.location)
	}

	b.post("/deliveries/retry", "id", fmt.Sprint(e[2]), "id", fmt.Sprint(e[0])).want(t, http.StatusSeeOther)
	b.get("/deliveries").want(t, http.StatusOK, "Uma mensagem vai sair de novo.")
	if s.row(e[2]) != "pending 1/6 mail" || s.row(e[0]) != "pending 1/6 mail" {
		t.Errorf("the rows are %q and %q", s.row(e[2]), s.row(e[0]))
	}

	b.get(list).want(t, http.StatusOK, "Enviar de novo as 3 mensagens de “Avaliação 2026.2”?", "Um endereço não existe", "Só as outras 2")
	b.get("/deliveries/retry?all=1&"+strings.TrimPrefix(list, "/deliveries?")).want(t, http.StatusOK, "Enviar de novo as 3 mensagens", "Um endereço não existe")
	b.post("/deliveries/retry", "all", "1", "cycle", fmt.Sprint(cycle), "except", "address").want(t, http.StatusSeeOther)
	if s.row(e[3]) != "failed 1/5 mail" || s.row(e[4]) != "pending 1/6 mail" || s.row(e[5]) != "pending 1/6 mail" {
		t.Errorf("the rows are %q, %q and %q", s.row(e[3]), s.row(e[4]), s.row(e[5]))
	}
	b.post("/deliveries/retry", "all", "1", "cycle", fmt.Sprint(cycle)).want(t, http.StatusSeeOther)
	b.post("/deliveries/retry", "all", "1", "cycle", fmt.Sprint(cycle)).want(t, http.StatusConflict, "Nada foi enviado duas vezes")
}

func TestEightRetriesThroughThePage(t *testing.T) {
	s := newSite(t)
	_, e := s.asked("Avaliação 2026.2", 3)
	s.fail(outbox.CauseAddress, refusal, e[0])
	b := s.as(s.company.HR)
	statuses := make(chan int, 8)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { statuses <- b.post(fmt.Sprintf("/deliveries/%d/retry", e[0])).status })
	}
	wg.Wait()
	close(statuses)
	counts := map[int]int{}
	for status := range statuses {
		counts[status]++
	}
	if counts[http.StatusSeeOther] != 1 || counts[http.StatusConflict] != 7 || s.row(e[0]) != "pending 1/6 mail" {
		t.Errorf("answers %v, the row is %q", counts, s.row(e[0]))
	}
}

func TestCorrectTheAddressAndSendAgain(t *testing.T) {
	s := newSite(t)
	_, e := s.asked("Avaliação 2026.2", 6)
	s.fail(outbox.CauseAddress, refusal, e[3])
	b := s.as(s.company.HR)
	page, resend := fmt.Sprintf("/deliveries/%d", e[3]), fmt.Sprintf("/deliveries/%d/resend", e[3])
	b.get(page).want(t, http.StatusOK, "Corrigir o endereço e enviar de novo", "Sem corrigir, dará no mesmo")
	taken := fmt.Sprintf("p5@%d.example.test", s.company.Tenant)
	for _, tt := range []struct{ typed, words string }{
		{"", "Preencha este campo."},
		{"diego.example.test", ""},
		{taken, "Este endereço já é de Érica 5. Cada pessoa tem o seu."},
		{"diego\u202e@example.test", ""},
		{strings.Repeat("d", 300) + "@example.test", ""},
	} {
		got := b.post(resend, "email", tt.typed).want(t, http.StatusUnprocessableEntity, `class="error-summary"`, "<title>Erro: ")
		if !strings.Contains(got.body, `value="`+html.EscapeString(tt.typed)+`"`) {
			t.Errorf("%q was not kept", tt.typed)
		}
		if tt.words != "" && strings.Count(got.body, tt.words) != 2 {
			t.Errorf("%q does not stand in the summary and at the field", tt.words)
		}
	}
	if s.row(e[3]) != "failed 1/5 mail" {
		t.Errorf("the row is %q", s.row(e[3]))
	}
	b.post(resend, "email", "diego@example.test").want(t, http.StatusSeeOther)
	b.get(page).want(t, http.StatusOK, "Endereço de Diego 4 corrigido", "diego@example.test", "corrigiu o endereço e pediu novo envio", "Recusada na tentativa 1", "Mensagem registrada")
	if s.row(e[3]) != "pending 1/6 mail" {
		t.Errorf("the row is %q", s.row(e[3]))
	}
	s.become(`status = 'processing', attempts = 2`, e[3])
	b.post(resend, "email", "outro@example.test").want(t, http.StatusConflict, "está sendo enviada neste momento", `value="outro@example.test"`)
	if got := b.get(resend); got.status != http.StatusSeeOther || got.location != page {
		t.Errorf("loading the act again: %d to %q", got.status, got.location)
	}
}

func TestCancelAndHandOver(t *testing.T) {
	s := newSite(t)
	storetest.Exec(t, s.pool, `UPDATE people SET email = NULL WHERE id = $1`, s.company.People[5])
	_, e := s.asked("Avaliação 2026.2", 6)
	b := s.as(s.company.HR)
	cancel := func(id int64, reason string) answer {
		return b.post(fmt.Sprintf("/deliveries/%d/cancellation", id), "reason", reason)
	}
	b.get(fmt.Sprintf("/deliveries/%d/cancellation", e[2])).want(t, http.StatusOK, "Cancelar a mensagem para Carla 3?", "Motivo")
	cancel(e[2], "").want(t, http.StatusUnprocessableEntity, "Diga o motivo", `class="error-summary"`)
	cancel(e[2], strings.Repeat("x", 501)).want(t, http.StatusUnprocessableEntity, "no máximo 500 caracteres")
	cancel(e[2], "avisada por telefone").want(t, http.StatusSeeOther)
	b.get(fmt.Sprintf("/deliveries/%d", e[2])).want(t, http.StatusOK, "A mensagem não sai mais.", "Motivo: avisada por telefone", "cancelou a mensagem")
	cancel(e[2], "de novo").want(t, http.StatusConflict, "já foi cancelada")

	s.become(`status = 'processing', attempts = 1`, e[3])
	cancel(e[3], "engano").want(t, http.StatusSeeOther)
	b.get(fmt.Sprintf("/deliveries/%d", e[3])).want(t, http.StatusOK, "Cancelamento pedido", "vale se a mensagem ainda não tiver saído", "delivery-live")
	s.become(`status = 'delivered', delivered_at = now()`, e[3])
	b.get(fmt.Sprintf("/deliveries/%d", e[3])).want(t, http.StatusOK, "mas a mensagem já tinha saído", "pediu para cancelar enquanto era enviada")
	cancel(e[3], "engano").want(t, http.StatusConflict, "Tarde demais para cancelar")

	b.get(fmt.Sprintf("/deliveries/%d", e[5])).want(t, http.StatusOK, "Marcar como entregue em mãos", "A pessoa tem e-mail agora?")
	b.post(fmt.Sprintf("/deliveries/%d/handover", e[0])).want(t, http.StatusConflict, "vai por e-mail")
	b.post(fmt.Sprintf("/deliveries/%d/handover", e[5]), "next", "/deliveries?state=handout").want(t, http.StatusSeeOther)
	b.post(fmt.Sprintf("/deliveries/%d/handover", e[5])).want(t, http.StatusConflict, "já foi entregue em mãos")
	b.get(fmt.Sprintf("/deliveries/%d", e[5])).want(t, http.StatusOK, "registrou a entrega em mãos")
}

func TestMessagePageShowsWhatIsKnown(t *testing.T) {
	s := newSite(t)
	s.serve(handlers.Options{MailDomain: "aroeira.test"})
	_, e := s.asked("Avaliação <2026>", 2)
	s.fail(outbox.CauseAddress, refusal+" <script>alert(1)</script>", e[0])
	got := s.as(s.company.HR).get(fmt.Sprintf("/deliveries/%d", e[0])).want(t, http.StatusOK,
		"Convite para Ana 1", fmt.Sprintf("&lt;outbox-%d@aroeira.test&gt;", e[0]), "&#34;cycle_id&#34;: ", "ainda não foi criado", "ATV-", "RCPT", "0,4 s",
		"Avaliação &lt;2026&gt;", "recusa definitiva", "Português (Brasil)", "1 avaliação neste convite")
	if strings.Contains(got.body, "<script>alert") {
		t.Error("what the server said came out as markup")
	}
	if strings.Contains(got.body, "«") {
		t.Error("a word is missing from the catalogue")
	}
}

// Whatever the outbox can say has words in both languages.
func TestEveryStateCauseAndClassHasWords(t *testing.T) {
	var keys []string
	for _, c := range outbox.Causes {
		for _, part := range []string{"", ".note", ".what", ".todo"} {
			keys = append(keys, "cause."+string(c)+part)
		}
	}
	for _, s := range outbox.States {
		keys = append(keys, "message.tab."+string(s), "message.state."+string(s), "messages.none."+string(s), "messages.none."+string(s)+"_text")
	}
	for _, c := range []outbox.Class{outbox.Temporary, outbox.Permanent, outbox.Unavailable, outbox.SenderRefused, outbox.Unknown, outbox.Lost} {
		keys = append(keys, "message.try."+string(c))
	}
	for _, end := range []string{"asked", "in_time", "too_late", "refused", "maybe"} {
		keys = append(keys, "message.stop."+end)
	}
	for _, key := range keys {
		if !i18n.Has(key) {
			t.Errorf("%s has no words", key)
		}
	}
}
