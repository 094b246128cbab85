package handlers_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5"

	"ciclo/handlers"
	"ciclo/internal/outbox"
	"ciclo/store/storetest"
)

func TestShots(t *testing.T) {
	s := newSite(t)
	s.serve(handlers.Options{MailDomain: "transportes.example"})
	c := storetest.NewCompany(t, s.pool, "Transportes Aroeira S.A.", 3100)
	s.company = c
	s.givePassword(c.HR.PersonID, password)
	storetest.Exec(t, s.pool, `UPDATE people SET locale='pt-BR', name='Renata Tavares Brandão de Queirós' WHERE id=@id`, pgx.NamedArgs{"id": c.HR.PersonID})
	storetest.Exec(t, s.pool, `UPDATE people SET email = 'p' || id || '@transportes.example' WHERE tenant_id=$1 AND id <> $2`, c.Tenant, c.HR.PersonID)
	name := func(i int, n, e string) {
		storetest.Exec(t, s.pool, `UPDATE people SET name=$2, email=$3 WHERE id=$1`, c.People[i], n, e)
	}
	name(4, "Benedito Raimundo Conceição dos Santos Peçanha", "benedito.pecanha@transporte.example")
	name(5, "Kátia D’Ávila Nóbrega", "katia.nobrega@transportes.example")
	name(6, "Íris Esteves São-Tiago", "iris.saotiago@transportes.example")
	name(7, "Luís Antônio Guimarães Uchôa Cavalcanti de Albuquerque Vasconcelos e Sá Pereira Brandão Figueiredo de Mello Neto", "luis.antonio.guimaraes.uchoa.cavalcanti.albuquerque@transportes-rodoviarios-regionais.example")
	name(8, "Wagner Zanatta Kühn", "wagner.kuhn@fretesul.example")
	storetest.Exec(t, s.pool, `UPDATE people SET email = NULL WHERE id = ANY($1)`, c.People[20:24])
	cycle, e := s.asked("Avaliação de Desempenho 2026.2", 3000)
	storetest.Exec(t, s.pool, `UPDATE outbox_events SET status='delivered', delivered_at=now(), attempts=1, updated_at=now() WHERE queue='mail'`)
	storetest.Exec(t, s.pool, `UPDATE outbox_events SET status='pending', delivered_at=NULL, attempts=0 WHERE id = ANY($1)`, e[4:60])
	s.fail(outbox.CauseAddress, "550 5.1.1 <benedito.pecanha@transporte.example>: Recipient address rejected: User unknown in virtual mailbox table", e[4])
	s.fail(outbox.CauseAddress, "550 5.1.1 The email account that you tried to reach does not exist.", e[5])
	s.fail(outbox.CauseMailboxFull, "452 4.2.2 The recipient’s inbox is out of storage space.", e[6], e[7])
	s.fail(outbox.CausePolicy, "554 5.7.1 Message rejected due to domain policy (SPF fail)", e[8])
	s.become(`attempts=2, cause='slow', last_error='450 4.7.1 Greylisted, try again later', available_at=now()+interval '4 minutes'`, e[9:14]...)
	s.become(`status='processing', attempts=1`, e[14])
	s.become(`status='cancelled', status_reason='Avisada por telefone; a filial de Camaçari fechou.'`, e[15:17]...)
	if err := s.store.RetryMessage(t.Context(), c.HR, e[4]); err != nil {
		t.Fatal(err)
	}
	s.become(`status='pending'`, e[4])
	s.fail(outbox.CauseAddress, "550 5.1.1 <benedito.pecanha@transporte.example>: Recipient address rejected: User unknown in virtual mailbox table", e[4])
	axe, _ := os.ReadFile("/tmp/web/axe.min.js")
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("/usr/bin/chromium"), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WindowSize(1280, 800), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir()))
	actx, c1 := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, c2 := chromedp.NewContext(actx)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); c2(); c1() })
	console := chromedp.Console(ctx)
	go func() {
		for m := range console {
			fmt.Printf("CONSOLE %+v\n", m)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 200*time.Second)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	shot := func(name string) {
		t.Helper()
		png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		must(err)
		must(os.WriteFile("/tmp/dl/shots/"+name+".png", png, 0o644))
		_, err = chromedp.Run(ctx, chromedp.Evaluate[int](string(axe)+";1"))
		must(err)
		out, err := chromedp.Run(ctx, chromedp.Evaluate[string](`axe.run(document,{runOnly:["wcag2a","wcag2aa","wcag21aa","wcag22aa","best-practice"]}).then(r=>JSON.stringify(r.violations.map(v=>[v.id,v.help,v.nodes.map(n=>n.html.slice(0,200))])))`, chromedp.EvalAwaitPromise))
		must(err)
		if out != "[]" {
			fmt.Println("AXE", name, out)
		}
		wide, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`String(document.documentElement.scrollWidth > innerWidth)`))
		if wide == "true" {
			fmt.Println("WIDE", name)
		}
	}
	size := func(w, h int64) { must(chromedp.Do(ctx, chromedp.EmulateViewport(w, h))) }
	js := func(code string) string {
		t.Helper()
		out, err := chromedp.Run(ctx, chromedp.Evaluate[string](code))
		must(err)
		return out
	}
	open := func(path string) {
		must(chromedp.Do(ctx, chromedp.Navigate(s.server.URL+path), chromedp.WaitVisible(chromedp.CSS(".page-head"))))
	}
	size(1280, 800)
	must(chromedp.Do(ctx, chromedp.Navigate(s.server.URL+"/login"), chromedp.WaitVisible(chromedp.CSS("#f-email"))))
	js(fmt.Sprintf(`document.querySelector('#f-email').value='p2@%d.example.test';document.querySelector('#f-password').value='%s';document.querySelector('form.form').requestSubmit();''`, c.Tenant, password))
	must(chromedp.Do(ctx, chromedp.WaitVisible(chromedp.CSS(".page-head"))))
	list := fmt.Sprintf("/deliveries?cycle=%d", cycle)
	open(list)
	js(`document.querySelector('tbody .tick').click(); document.querySelector('tbody details').open = true; ''`)
	shot("list")
	js(`document.querySelector('#retry-all-open').click();''`)
	shot("list-dialog")
	open("/deliveries?state=accepted&page=3")
	shot("accepted")
	open("/deliveries?state=retrying")
	shot("retrying")
	open("/deliveries?state=handout")
	shot("handout")
	open("/deliveries?state=cancelled")
	shot("cancelled")
	open("/deliveries?q=zzz")
	shot("nomatch")
	open(fmt.Sprintf("/deliveries/%d", e[4]))
	shot("detail")
	js(`document.querySelector('#f-email').value='x';document.querySelector('#correct form').requestSubmit();''`)
	must(chromedp.Do(ctx, chromedp.WaitVisible(chromedp.CSS(".error-summary"))))
	shot("detail-error")
	open(fmt.Sprintf("/deliveries/%d", e[4]))
	js(`document.querySelector('#cancel-open').click();''`)
	shot("detail-cancel")
	open(fmt.Sprintf("/deliveries/%d/cancellation", e[7]))
	shot("cancel-page")
	open(fmt.Sprintf("/deliveries/%d", e[21]))
	js(`document.querySelector('#payload').open = true;''`)
	shot("detail-handout")
	open(fmt.Sprintf("/deliveries/%d", e[30]))
	shot("detail-queued")
	open(fmt.Sprintf("/deliveries/%d", e[100]))
	shot("detail-accepted")
	open("/deliveries/retry?all=1")
	shot("retry-page")
	size(390, 844)
	open(list)
	shot("list-390")
	open(fmt.Sprintf("/deliveries/%d", e[7]))
	shot("detail-390")
	js(`document.querySelector('#cancel-open').click();''`)
	shot("detail-cancel-390")
	size(1280, 800)
	open(list)
	js(`document.querySelector('#theme button[value=dark]').click();''`)
	must(chromedp.Do(ctx, chromedp.WaitVisible(chromedp.CSS("html[data-theme=dark] .page-head"))))
	js(`document.querySelector('tbody .tick').click();''`)
	shot("list-dark")
	js(`document.querySelector('#language button[value=en]').click();''`)
	must(chromedp.Do(ctx, chromedp.WaitVisible(chromedp.CSS("html[lang=en] .page-head"))))
	shot("list-en-dark")
	open(fmt.Sprintf("/deliveries/%d", e[4]))
	shot("detail-en-dark")
	size(390, 844)
	open("/deliveries")
	shot("list-390-en-dark")
}
