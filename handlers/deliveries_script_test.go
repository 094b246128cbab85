package handlers_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"ciclo/internal/outbox"
	"ciclo/internal/policy"
	"ciclo/store/storetest"
)

// enter gives the tab the session of somebody who has signed in.
func (b *tab) enter(s *site, a policy.Actor) {
	b.t.Helper()
	storetest.Exec(b.t, s.pool, `UPDATE people SET locale = 'pt-BR' WHERE id = $1`, a.PersonID)
	signedIn := s.as(a)
	home, err := url.Parse(s.server.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range signedIn.client.Jar.Cookies(home) {
		if _, err := chromedp.Call(b.ctx, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: s.server.URL}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// run does what a person does in the page.
func (b *tab) run(script string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[int](script+";1")); err != nil {
		b.t.Fatal(err)
	}
}

// While a drain runs the page follows it, and takes nothing away from who is
// working on it: a tick, an open reply, the search with its focus, an open dialog.
func TestMessagesAreLiveAndDisturbNobody(t *testing.T) {
	s := newSite(t)
	_, e := s.asked("Avaliação 2026.2", 6)
	s.fail(outbox.CauseAddress, refusal, e[0], e[1])
	b := newTab(t)
	if b == nil {
		return
	}
	b.enter(s, s.company.HR)
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(s.server.URL+"/deliveries"), chromedp.WaitVisible(chromedp.CSS("#deliveries")))
	b.run(fmt.Sprintf(`document.getElementById('tick-%d').click(); document.getElementById('reply-%d').open = true;
		document.getElementById('deliveries-q').focus()`, e[1], e[0]))
	s.fail(outbox.CauseMailboxFull, "452 4.2.2 Mailbox full", e[2])
	b.until(`document.querySelectorAll('tbody tr').length === 3`)
	b.until(fmt.Sprintf(`document.getElementById('tick-%d').checked && document.getElementById('reply-%d').open`, e[1], e[0]))
	b.until(`document.activeElement.id === 'deliveries-q'`)
	b.until(`document.querySelector('[data-selected-many]').textContent === '1 selecionada'`)

	b.run(`document.getElementById('retry-all-open').click()`)
	b.until(`document.getElementById('retry-all').open`)
	s.fail(outbox.CauseMailboxFull, "452 4.2.2 Mailbox full", e[3])
	b.until(`document.getElementById('retry-all').innerText.includes('Enviar de novo as 4')`)
	b.until(`document.getElementById('retry-all').matches(':modal')`)

	// at the end nothing asks any more, also after loading the page again
	s.become(`status = 'delivered', attempts = 1, delivered_at = now()`, e[4], e[5])
	b.until(`!document.getElementById('deliveries-live')`)
	b.do(chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS("#deliveries")))
	b.until(`!document.getElementById('deliveries-live') && document.querySelectorAll('tbody tr').length === 4`)
}

// Searching swaps the list, keeps the address true, and the poll follows it.
func TestMessagesSearchWhileLive(t *testing.T) {
	s := newSite(t)
	_, e := s.asked("Avaliação 2026.2", 6)
	s.fail(outbox.CauseAddress, refusal, e[0], e[1])
	b := newTab(t)
	if b == nil {
		return
	}
	b.enter(s, s.company.HR)
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(s.server.URL+"/deliveries"), chromedp.WaitVisible(chromedp.CSS("#deliveries")),
		chromedp.SendKeys(chromedp.CSS("#deliveries-q"), "bruno"))
	b.until(`document.querySelectorAll('tbody tr').length === 1 && location.search.includes('q=bruno')`)
	b.until(`document.getElementById('deliveries-q').value === 'bruno' && document.activeElement.id === 'deliveries-q'`)
	// the next poll keeps to what is searched for
	s.fail(outbox.CauseMailboxFull, "452 4.2.2 Mailbox full", e[2])
	b.until(`document.querySelector('.tabs__n').textContent === '3'`)
	b.until(`document.querySelectorAll('tbody tr').length === 1 && document.getElementById('deliveries-q').value === 'bruno'`)
}
