package handlers_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/handlers"
	"ciclo/internal/appraisal"
	"ciclo/internal/links"
	"ciclo/internal/policy"
	"ciclo/static"
	"ciclo/store/storetest"
)

// reviewing is a site with an active cycle that asks the ready form: the first
// three people review two others each.
type reviewing struct {
	*site
	keys  links.Ring
	cycle int64
}

func newReviewing(t *testing.T) *reviewing {
	t.Helper()
	s := newSite(t)
	secret := make([]byte, links.MinSecret)
	rand.Read(secret)
	v := &reviewing{site: s, keys: links.Ring{{ID: "k1", Secret: secret}}}
	s.serve(handlers.Options{Keys: v.keys})
	content, err := json.Marshal(appraisal.ReadyForms()[0].Content)
	if err != nil {
		t.Fatal(err)
	}
	s.company.Form = storetest.One[int64](t, s.pool, `
		INSERT INTO form_versions (tenant_id, form_id, number, content)
		SELECT tenant_id, form_id, 2, @content
		FROM form_versions
		WHERE id = @form
		RETURNING id`, pgx.NamedArgs{"form": s.company.Form, "content": content})
	v.cycle = s.company.Draft(t, "Ciclo 2026.2", 6, 3)
	v.activate(v.cycle)
	return v
}

func (v *reviewing) activate(cycle int64) {
	v.t.Helper()
	if _, err := v.store.ActivateCycle(v.t.Context(), v.company.HR, cycle); err != nil {
		v.t.Fatal(err)
	}
}

// reviews are the ids of what a person was asked for in a cycle.
func (v *reviewing) reviews(cycle int64, person int) []int64 {
	v.t.Helper()
	return storetest.One[[]int64](v.t, v.pool, `
		SELECT array_agg(id ORDER BY id)
		FROM evaluations
		WHERE cycle_id = @cycle
		  AND reviewer_id = @person`, pgx.NamedArgs{"cycle": cycle, "person": v.company.People[person]})
}

// token makes a person's link to a cycle.
func (v *reviewing) token(cycle int64, person int) (token string, id int64) {
	v.t.Helper()
	l := links.Link{TenantID: v.company.Tenant, CycleID: cycle, PersonID: v.company.People[person], KeyID: "k1", Nonce: make([]byte, 16)}
	rand.Read(l.Nonce)
	l.ID = storetest.One[int64](v.t, v.pool, `
		INSERT INTO review_links (tenant_id, cycle_id, person_id, kid, nonce)
		VALUES (@tenant, @cycle, @person, 'k1', @nonce)
		RETURNING id`, pgx.NamedArgs{"tenant": l.TenantID, "cycle": cycle, "person": l.PersonID, "nonce": l.Nonce})
	token, err := v.keys.Token(l)
	if err != nil {
		v.t.Fatal(err)
	}
	return token, l.ID
}

// byLink is a browser in which a person came by their link.
func (v *reviewing) byLink(cycle int64, person int) *browser {
	v.t.Helper()
	token, _ := v.token(cycle, person)
	b := v.browser()
	b.post("/r/"+token).want(v.t, http.StatusSeeOther)
	return b
}

func (v *reviewing) state(id int64) string {
	v.t.Helper()
	return storetest.One[string](v.t, v.pool, `SELECT state FROM evaluations WHERE id = $1`, id)
}

func (v *reviewing) text(id int64) string {
	v.t.Helper()
	return storetest.One[string](v.t, v.pool, `SELECT coalesce((SELECT content -> 'comentario' ->> 'text' FROM answers WHERE evaluation_id = $1), '')`, id)
}

func (v *reviewing) refusals(id int64) int {
	v.t.Helper()
	return storetest.One[int](v.t, v.pool, `
		SELECT count(*)::int
		FROM audit_entries
		WHERE act = 'evaluation.submit_refused'
		  AND object_id = $1`, id)
}

func (v *reviewing) dueAt(cycle int64, at time.Time) {
	v.t.Helper()
	storetest.Exec(v.t, v.pool, `UPDATE cycles SET due_at = $2 WHERE id = $1`, cycle, at)
}

// complete is every required answer, and a text.
func complete(version int, text string) []string {
	return []string{"version", fmt.Sprint(version), "q.qualidade", "4", "q.comunicacao", "na", "q.colaboracao", "5", "q.metas", "3",
		"q.proximo-passo", "ampliar", "q.comentario", text}
}

func path(id int64, rest string) string { return fmt.Sprintf("/reviews/%d%s", id, rest) }

func TestLookingAtALinkChangesNothing(t *testing.T) {
	v := newReviewing(t)
	token, link := v.token(v.cycle, 2)
	before := v.pictureOf(link)
	scanner := v.browser()
	if a := scanner.do(http.MethodHead, "/r/"+token, "", nil); a.status != http.StatusOK || a.body != "" {
		t.Fatalf("HEAD answered %d with %d bytes", a.status, len(a.body))
	}
	for range 50 {
		a := scanner.get("/r/"+token).want(t, http.StatusOK, "Carla 3", "Transportes Aroeira", "É você?", "Ciclo 2026.2")
		if a.header.Get("Set-Cookie") != "" {
			t.Fatal("looking at a link opened a session")
		}
		if a.header.Get("Cache-Control") != "no-store" || a.header.Get("Referrer-Policy") != "same-origin" {
			t.Fatalf("headers of a secret page: %v", a.header)
		}
	}
	if after := v.pictureOf(link); after != before {
		t.Fatalf("51 looks changed %s to %s", before, after)
	}

	carla := v.browser()
	carla.get("/r/"+token).want(t, http.StatusOK)
	carla.post("/r/"+token).want(t, http.StatusSeeOther)
	carla.get("/reviews").want(t, http.StatusOK, "Ciclo 2026.2", "0 de 2 enviadas")
	if after := v.pictureOf(link); after == before {
		t.Error("the link does not say that it was opened")
	}
	carla.post("/logout").want(t, http.StatusSeeOther)
	if a := carla.get("/reviews"); a.status != http.StatusSeeOther {
		t.Errorf("after signing out /reviews answers %d", a.status)
	}
	if strings.Contains(v.log.String(), token) {
		t.Error("the token stands in the log")
	}
}

// pictureOf is everything a look could change.
func (v *reviewing) pictureOf(link int64) string {
	v.t.Helper()
	return storetest.One[string](v.t, v.pool, `
		SELECT concat_ws(' ', (SELECT opened_at FROM review_links WHERE id = @link),
		                      (SELECT count(*) FROM sessions),
		                      (SELECT count(*) FROM audit_entries),
		                      (SELECT count(*) FROM answers))`, pgx.NamedArgs{"link": link})
}

func TestLinksThatOpenNothingSayWhy(t *testing.T) {
	v := newReviewing(t)
	token, link := v.token(v.cycle, 2)
	forged := token[:len(token)-4] + "AAAA"
	plain := regexp.MustCompile(`<p class="fine">Código do pedido: [A-Z0-9]+</p>|name="next" value="[^"]*"`)
	var unknown string
	for _, bad := range []string{forged, "AAAAAAAAAAk" + token[11:], "x", strings.Repeat("A", 43), token + "A", token[:20], "%00", "..%2f..%2fetc"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			a := v.browser().do(method, "/r/"+bad, "", nil).want(t, http.StatusNotFound, "Este link não abre nenhuma avaliação")
			said := plain.ReplaceAllString(a.body, "")
			if unknown == "" {
				unknown = said
			}
			if said != unknown {
				t.Errorf("%s /r/%s is answered unlike the others", method, bad)
			}
		}
	}
	for _, tt := range []struct{ name, do, undo, words string }{
		{"the cycle is back in draft", `UPDATE cycles SET state = 'draft', activated_at = NULL, activated_by = NULL WHERE id = @cycle`,
			`UPDATE cycles SET state = 'active', activated_at = now(), activated_by = owner_id WHERE id = @cycle`, "ainda não começou"},
		{"the cycle is closed", `UPDATE cycles SET state = 'closed', closed_at = now(), closed_by = owner_id WHERE id = @cycle`,
			`UPDATE cycles SET state = 'active', closed_at = NULL, closed_by = NULL WHERE id = @cycle`, "foi encerrado em"},
		{"the cycle is cancelled", `UPDATE cycles SET state = 'cancelled', cancelled_at = now(), cancel_reason = 'Mudou o calendário' WHERE id = @cycle`,
			`UPDATE cycles SET state = 'active', cancelled_at = NULL, cancel_reason = NULL WHERE id = @cycle`, "foi cancelado: Mudou o calendário"},
		{"the person left", `UPDATE people SET left_on = (now() AT TIME ZONE 'America/Sao_Paulo')::date - 3 WHERE id = @person`, `UPDATE people SET left_on = NULL WHERE id = @person`, "saiu da organização"},
		{"the link is revoked", `UPDATE review_links SET revoked_at = now() WHERE id = @link`, `UPDATE review_links SET revoked_at = NULL WHERE id = @link`, "foi desativado"},
	} {
		args := pgx.NamedArgs{"cycle": v.cycle, "link": link, "person": v.company.People[2]}
		storetest.Exec(t, v.pool, tt.do, args)
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			a := v.browser().do(method, "/r/"+token, "", nil)
			if a.status != http.StatusConflict || !strings.Contains(a.body, tt.words) || a.header.Get("Set-Cookie") != "" {
				t.Errorf("%s: %s answers %d\n%s", tt.name, method, a.status, a.body)
			}
		}
		storetest.Exec(t, v.pool, tt.undo, args)
	}
	v.browser().post("/r/"+token).want(t, http.StatusSeeOther) // all of it undone, it works
}

func TestALinkOpensOneCycleOfOnePerson(t *testing.T) {
	v := newReviewing(t)
	other := v.company.Draft(t, "Outro ciclo", 6, 3)
	v.activate(other)
	mine, elsewhere, theirs := v.reviews(v.cycle, 2)[0], v.reviews(other, 2)[0], v.reviews(v.cycle, 1)[0]

	carla := v.byLink(v.cycle, 2)
	if a := carla.get("/reviews").want(t, http.StatusOK, "Ciclo 2026.2"); strings.Contains(a.body, "Outro ciclo") {
		t.Error("the list shows another cycle")
	}
	carla.get(path(mine, "")).want(t, http.StatusOK)
	for _, id := range []int64{elsewhere, theirs} {
		for _, rest := range []string{"", "/submission"} {
			carla.get(path(id, rest)).want(t, http.StatusNotFound)
		}
		carla.post(path(id, "/draft"), complete(0, "x")...).want(t, http.StatusNotFound)
		carla.post(path(id, "/submission"), complete(0, "x")...).want(t, http.StatusNotFound)
	}
	for _, forged := range []string{"0", "-1", "01", "abc", "9223372036854775808", "1%20", "999999999"} {
		carla.get("/reviews/"+forged).want(t, http.StatusNotFound)
	}
	if a := carla.get("/"); a.location != "/reviews" {
		t.Errorf("the home page sends a reviewer by link to %q", a.location)
	}

	// signed in, the same person sees all their cycles
	v.as(v.company.Actor(2)).get("/reviews").want(t, http.StatusOK, "Ciclo 2026.2", "Outro ciclo")

	// and who is signed in stays who they are
	hr := v.as(v.company.HR)
	token := v.relink(v.cycle, 2)
	hr.post("/r/"+token).want(t, http.StatusConflict, "Bruno 2")
	hr.get("/reviews/"+fmt.Sprint(mine)).want(t, http.StatusNotFound)
	hr.get(path(v.reviews(v.cycle, 1)[0], "")).want(t, http.StatusOK)
}

// relink revokes a person's link and makes another.
func (v *reviewing) relink(cycle int64, person int) string {
	v.t.Helper()
	storetest.Exec(v.t, v.pool, `UPDATE review_links SET revoked_at = now() WHERE cycle_id = $1 AND person_id = $2 AND revoked_at IS NULL`, cycle, v.company.People[person])
	token, _ := v.token(cycle, person)
	return token
}

func TestAReviewIsWrittenInPartsAndSubmitted(t *testing.T) {
	v := newReviewing(t)
	carla := v.byLink(v.cycle, 2)
	id := v.reviews(v.cycle, 2)[0]
	carla.get(path(id, "")).want(t, http.StatusOK, "Revisar e enviar", "Nada salvo ainda", "0 de 6", "Enviar até", "Quem vai ler as suas respostas", `name="version" value="0"`)

	// the page saves itself
	quiet := carla.with("Accept", "application/json")
	var saved struct {
		Version  int
		Answered int
		Saved    string
	}
	a := quiet.post(path(id, "/draft"), "version", "0", "q.qualidade", "4", "c.qualidade", "linha 1\r\nlinha 2").want(t, http.StatusOK)
	if err := json.Unmarshal([]byte(a.body), &saved); err != nil {
		t.Fatal(err)
	}
	if saved.Version != 1 || saved.Answered != 1 || !strings.HasPrefix(saved.Saved, "Salvo às ") {
		t.Errorf("saving is answered %s", a.body)
	}
	if got := v.state(id); got != "in_progress" {
		t.Errorf("after the first save the review is %s", got)
	}
	// a save whose answer was lost is repeated without harm
	quiet.post(path(id, "/draft"), "version", "0", "q.qualidade", "4", "c.qualidade", "linha 1\r\nlinha 2").want(t, http.StatusOK, `"version":1`)

	// without script, by its buttons
	carla.post(path(id, "/draft"), "version", "1", "q.qualidade", "4").want(t, http.StatusSeeOther)
	a = carla.post(path(id, "/draft"), "version", "2", "q.qualidade", "4", "q.comentario", "fica", "then", "submission").
		want(t, http.StatusUnprocessableEntity, "Faltam 4 respostas", `href="#f-q.metas"`, `id="f-q.metas"`, "Escolha uma nota.", "fica</textarea>", `name="version" value="3"`)
	if !strings.Contains(a.body, "<title>Erro: ") {
		t.Error("the title does not say that something is wrong")
	}
	a = carla.post(path(id, "/draft"), append(complete(3, "Um texto."), "then", "submission")...).want(t, http.StatusSeeOther)
	carla.get(a.location).want(t, http.StatusOK, "Enviar avaliação", "Um texto.", "Não tenho como avaliar", `name="version" value="4"`)
	carla.post(path(id, "/submission"), "version", "4").want(t, http.StatusSeeOther)

	if got := v.state(id); got != "submitted" {
		t.Errorf("after the submission the review is %s", got)
	}
	if via := storetest.One[string](t, v.pool, `SELECT submitted_via FROM evaluations WHERE id = $1`, id); via != "link" {
		t.Errorf("it came by %s", via)
	}
	carla.get("/reviews").want(t, http.StatusOK, "1 de 2 enviadas", "Avaliação de ", " enviada.")
	a = carla.get(path(id, "")).want(t, http.StatusOK, "Enviada em", "Um texto.")
	if strings.Contains(a.body, "<textarea") || strings.Contains(a.body, "Revisar e enviar") {
		t.Error("a submitted review can still be written")
	}
	carla.post(path(id, "/draft"), complete(4, "outro")...).want(t, http.StatusConflict, "já foi enviada")
	if got := v.text(id); got != "Um texto." {
		t.Errorf("after the submission the text became %q", got)
	}
	// the page speaks both languages, and the switch comes back to it
	carla.with("Cookie", "language=en").get(path(id, ""))
	a = carla.get(path(id, "")).want(t, http.StatusOK, fmt.Sprintf(`name="next" value="/reviews/%d"`, id))
	carla.post("/language", "locale", "en", "next", path(id, "")).want(t, http.StatusSeeOther)
	carla.get(path(id, "")).want(t, http.StatusOK, "Submitted on", "Your answers")
}

func TestSubmissionIsRefusedOutsideItsTime(t *testing.T) {
	v := newReviewing(t)
	carla := v.as(v.company.Actor(2))
	early := v.company.Draft(t, "Ciclo futuro", 6, 3)
	now := time.Now()
	mine := v.reviews(v.cycle, 2)
	for _, tt := range []struct {
		name   string
		who    *browser
		id     int64
		before func()
		status int
		words  string
		text   string // kept afterwards
	}{
		{"before the start", carla, v.reviews(early, 2)[0], nil, 409, "ainda não começou", ""},
		{"as an outsider", v.as(v.company.Actor(5)), mine[0], nil, 404, "", ""},
		{"as the person under review", v.as(v.company.Actor(3)), mine[0], nil, 404, "", ""},
		{"as HR", v.as(v.company.HR), mine[0], nil, 404, "", ""},
		{"from another organisation", v.foreigner(), mine[0], nil, 404, "", ""},
		{"after the deadline, never opened before", carla, mine[0], func() { v.dueAt(v.cycle, now.Add(-time.Minute)) }, 409, "O prazo terminou em", "texto novo"},
		{"after deadline and grace, opened before", carla, mine[1], func() {
			v.dueAt(v.cycle, now.Add(-16*time.Minute))
			storetest.Exec(t, v.pool, `UPDATE evaluations SET state = 'in_progress', started_at = now() - interval '1 hour' WHERE id = $1`, mine[1])
		}, 409, "O prazo terminou em", "texto novo"},
		{"after the cycle was closed", carla, mine[1], func() {
			storetest.Exec(t, v.pool, `UPDATE cycles SET state = 'closed', closed_at = now(), closed_by = owner_id WHERE id = $1`, v.cycle)
			storetest.Exec(t, v.pool, `UPDATE answers SET content = '{"comentario":{"text":"como estava"}}' WHERE evaluation_id = $1`, mine[1])
		}, 409, "foi encerrado em", "como estava"},
		{"after the cycle was cancelled", carla, mine[1], func() {
			storetest.Exec(t, v.pool, `UPDATE cycles SET state = 'cancelled', closed_at = NULL, closed_by = NULL, cancelled_at = now(), cancel_reason = 'Motivo' WHERE id = $1`, v.cycle)
		}, 409, "foi cancelado: Motivo", "como estava"},
	} {
		if tt.before != nil {
			tt.before()
		}
		state, refusals := v.state(tt.id), v.refusals(tt.id)
		version := storetest.One[int](t, v.pool, `SELECT coalesce((SELECT version FROM answers WHERE evaluation_id = $1), 0)`, tt.id)
		a := tt.who.post(path(tt.id, "/submission"), complete(version, "texto novo")...)
		if a.status != tt.status || !strings.Contains(a.body, tt.words) {
			t.Errorf("%s: %d, want %d and %q\n%s", tt.name, a.status, tt.status, tt.words, a.body)
		}
		if got := v.state(tt.id); got == "submitted" || got != state && !(state == "pending" && got == "in_progress" && tt.text != "") {
			t.Errorf("%s: the review went from %s to %s", tt.name, state, got)
		}
		if got := v.text(tt.id); got != tt.text {
			t.Errorf("%s: the text is %q, want %q", tt.name, got, tt.text)
		}
		if got := v.refusals(tt.id); got != refusals+1 {
			t.Errorf("%s: %d refusals audited, want one more than %d", tt.name, got, refusals)
		}
	}
}

func TestTheGraceIsForDraftsOpenedInTime(t *testing.T) {
	v := newReviewing(t)
	carla := v.as(v.company.Actor(2))
	id := v.reviews(v.cycle, 2)[0]
	carla.post(path(id, "/draft"), "version", "0", "q.qualidade", "4").want(t, http.StatusSeeOther)
	v.dueAt(v.cycle, time.Now().Add(-5*time.Minute))
	storetest.Exec(t, v.pool, `UPDATE evaluations SET started_at = now() - interval '1 hour' WHERE id = $1`, id)
	carla.get(path(id, "")).want(t, http.StatusOK, "ainda pode enviar até", "Revisar e enviar")
	carla.post(path(id, "/submission"), complete(1, "a tempo")...).want(t, http.StatusSeeOther)
	if got := v.state(id); got != "submitted" {
		t.Errorf("within the grace the review is %s", got)
	}
}

// foreigner is somebody signed in to another organisation.
func (v *reviewing) foreigner() *browser {
	v.t.Helper()
	other := storetest.NewCompany(v.t, v.pool, "Outra empresa", 3)
	return v.as(policy.Actor{TenantID: other.Tenant, PersonID: other.People[2], Name: "Carla 3"})
}

func TestAReviewIsSubmittedOnce(t *testing.T) {
	v := newReviewing(t)
	carla := v.as(v.company.Actor(2))
	id := v.reviews(v.cycle, 2)[0]
	carla.post(path(id, "/draft"), complete(0, "pronto")...).want(t, http.StatusSeeOther)

	const presses = 8
	statuses := make(chan int, presses)
	var wait sync.WaitGroup
	for range presses {
		wait.Go(func() {
			body := strings.NewReader("version=1")
			statuses <- carla.do(http.MethodPost, path(id, "/submission"), "application/x-www-form-urlencoded", body).status
		})
	}
	wait.Wait()
	close(statuses)
	count := map[int]int{}
	for s := range statuses {
		count[s]++
	}
	if count[http.StatusSeeOther] != 1 || count[http.StatusConflict] != presses-1 {
		t.Errorf("%d presses were answered %v", presses, count)
	}
	submissions := storetest.One[int](t, v.pool, `SELECT count(*)::int FROM audit_entries WHERE act = 'evaluation.submit' AND object_id = $1`, id)
	if submissions != 1 || v.refusals(id) != presses-1 {
		t.Errorf("%d submissions and %d refusals audited", submissions, v.refusals(id))
	}
	carla.post(path(id, "/submission"), "version", "1").want(t, http.StatusConflict, "já foi enviada em", "Nada mudou")
}

// Closing is under way in another transaction: neither a submission nor a draft
// slips in beside it.
func TestClosingAndWritingDoNotCross(t *testing.T) {
	v := newReviewing(t)
	carla := v.as(v.company.Actor(2))
	for i, rest := range []string{"/submission", "/draft"} {
		id := v.reviews(v.cycle, 2)[i]
		carla.post(path(id, "/draft"), complete(0, "antes")...).want(t, http.StatusSeeOther)
		closing, err := v.pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, sql := range []string{
			`UPDATE cycles SET state = 'closed', closed_at = now(), closed_by = owner_id WHERE id = $1`,
			`UPDATE evaluations SET state = 'expired' WHERE cycle_id = $1 AND state <> 'submitted'`,
		} {
			if _, err := closing.Exec(t.Context(), sql, v.cycle); err != nil {
				t.Fatal(err)
			}
		}
		came := make(chan answer)
		go func() { came <- carla.post(path(id, rest), complete(1, "depois")...) }()
		for waiting := false; !waiting; {
			select {
			case a := <-came:
				t.Fatalf("%s did not wait for the closing cycle: %d", rest, a.status)
			default:
			}
			waiting = storetest.One[bool](t, v.pool, `
				SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)
		}
		if err := closing.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a := <-came; a.status != http.StatusConflict || !strings.Contains(a.body, "foi encerrado em") {
			t.Errorf("%s beside a closing cycle is answered %d\n%s", rest, a.status, a.body)
		}
		if state, text := v.state(id), v.text(id); state != "expired" || text != "antes" {
			t.Errorf("%s left the review %s with %q", rest, state, text)
		}
		storetest.Exec(t, v.pool, `UPDATE cycles SET state = 'active', closed_at = NULL, closed_by = NULL WHERE id = $1`, v.cycle)
		storetest.Exec(t, v.pool, `UPDATE evaluations SET state = 'pending' WHERE cycle_id = $1 AND started_at IS NULL`, v.cycle)
	}
}

func TestAStaleTabIsToldAndOverwritesNothing(t *testing.T) {
	v := newReviewing(t)
	carla := v.as(v.company.Actor(2))
	id := v.reviews(v.cycle, 2)[0]
	carla.post(path(id, "/draft"), complete(0, "primeira aba")...).want(t, http.StatusSeeOther)
	carla.post(path(id, "/draft"), complete(1, "primeira aba, de novo")...).want(t, http.StatusSeeOther)

	for _, rest := range []string{"/draft", "/submission"} {
		carla.post(path(id, rest), complete(1, "segunda aba")...).
			want(t, http.StatusConflict, "foi salva em outra janela", "segunda aba</textarea>", `name="version" value="1"`, "Ver o texto mais novo")
	}
	carla.with("Accept", "application/json").post(path(id, "/draft"), complete(0, "terceira")...).want(t, http.StatusConflict, "outra janela")
	carla.post(path(id, "/submission"), "version", "1").want(t, http.StatusConflict, "outra janela")
	if got := v.text(id); got != "primeira aba, de novo" {
		t.Errorf("the stale tab left %q", got)
	}
	if got := v.state(id); got != "in_progress" {
		t.Errorf("the stale tab left the review %s", got)
	}

	// both tabs save at once: one wins, the other is told
	const tabs = 8
	var wait sync.WaitGroup
	statuses := make(chan int, tabs)
	for i := range tabs {
		wait.Go(func() {
			form := url.Values{"version": {"2"}, "q.comentario": {fmt.Sprintf("aba %d", i)}}
			statuses <- carla.do(http.MethodPost, path(id, "/draft"), "application/x-www-form-urlencoded", strings.NewReader(form.Encode())).status
		})
	}
	wait.Wait()
	close(statuses)
	count := map[int]int{}
	for s := range statuses {
		count[s]++
	}
	if count[http.StatusSeeOther] != 1 || count[http.StatusConflict] != tabs-1 {
		t.Errorf("%d tabs were answered %v", tabs, count)
	}
}

func TestAnswersThatCannotBeKeptAreNamed(t *testing.T) {
	v := newReviewing(t)
	carla := v.byLink(v.cycle, 2)
	id := v.reviews(v.cycle, 2)[0]
	carla.post(path(id, "/draft"), "version", "0", "q.comentario", "como estava").want(t, http.StatusSeeOther)
	for _, tt := range []struct{ name, field, value, words string }{
		{"a NUL", "q.comentario", "um\x00dois", "NUL"},
		{"not UTF-8", "q.comentario", "caf\xe9", "UTF-8"},
		{"one character too many", "q.comentario", strings.Repeat("á", 10_001), "10.000 caracteres"},
		{"a comment too long", "c.metas", strings.Repeat("a", 10_001), "10.000 caracteres"},
		{"off the scale", "q.metas", "6", "A nota vai de 1 a 5"},
		{"no number", "q.metas", "ótimo", "A nota vai de 1 a 5"},
		{"an option that is not there", "q.proximo-passo", "demitir", "Esta opção não existe"},
	} {
		field := strings.Replace(tt.field, "c.", "q.", 1)
		carla.post(path(id, "/draft"), "version", "1", "q.qualidade", "5", tt.field, tt.value).
			want(t, http.StatusUnprocessableEntity, tt.words, fmt.Sprintf(`href="#f-%s"`, field), fmt.Sprintf(`id="f-%s-e"`, field), `name="version" value="1"`)
		carla.with("Accept", "application/json").post(path(id, "/draft"), "version", "1", tt.field, tt.value).want(t, http.StatusUnprocessableEntity, tt.words)
		if got := v.text(id); got != "como estava" {
			t.Errorf("%s: half a draft was stored: %q", tt.name, got)
		}
	}
	carla.post(path(id, "/draft"), "version", "1", "q.comentario", strings.Repeat("á", 10_000)).want(t, http.StatusSeeOther)
	for _, version := range []string{"", "x", "-1", "99999999999999999999"} {
		carla.post(path(id, "/draft"), "version", version, "q.comentario", "y").want(t, http.StatusUnprocessableEntity)
	}
	carla.post(path(id, "/draft"), "version", "2", "q.comentario", strings.Repeat("a", 1<<20)).want(t, http.StatusRequestEntityTooLarge, "1 MB")
	carla.do(http.MethodPost, path(id, "/draft"), "text/plain", strings.NewReader("version=2")).want(t, http.StatusUnprocessableEntity)
	// another site's page may not write here
	carla.with("Sec-Fetch-Site", "cross-site").post(path(id, "/submission"), "version", "2").want(t, http.StatusForbidden)
}

// A page on a slow phone: everything that the first visit fetches.
func TestTheReviewPageIsLight(t *testing.T) {
	v := newReviewing(t)
	carla := v.byLink(v.cycle, 2)
	page := carla.get(path(v.reviews(v.cycle, 2)[0], "")).body
	total := len(page) // pages travel as they are
	t.Logf("html %d", total)
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?:href|src)="/static/([^"#]+)`).FindAllStringSubmatch(page, -1) {
		f, ok := static.Find(m[1])
		if !ok {
			t.Fatalf("the page wants %s, which is not there", m[1])
		}
		if seen[m[1]] {
			continue
		}
		seen[m[1]] = true
		a := carla.with("Accept-Encoding", "gzip").get("/static/"+m[1]).want(t, http.StatusOK)
		t.Logf("%s %d", f.Name, len(a.body))
		total += len(a.body)
	}
	t.Logf("together %d bytes", total)
	if total > 150_000 {
		t.Errorf("the page weighs %d bytes cold, 150,000 are allowed", total)
	}
	if strings.Contains(page, "style=") || strings.Contains(page, "onclick") {
		t.Error("the page carries what its policy refuses")
	}
}
