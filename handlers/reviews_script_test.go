package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"ciclo/store/storetest"
)

// tab is a browser tab with a phone's screen, on which pages run their scripts.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func newTab(t *testing.T) *tab {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CI") == "" {
		t.Log("no chromium on this machine: the script of the review was not tried")
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.UserDataDir(t.TempDir()))
	// a test's own context ends before its clean-ups: the browser must outlive it to end in order
	allocated, endAll := chromedp.NewExecAllocator(context.Background(), opts...)
	timed, endTime := context.WithTimeout(allocated, time.Minute)
	ctx, end := chromedp.NewContext(timed)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); end(); endTime(); endAll() })
	b := &tab{t: t, ctx: ctx}
	b.do(chromedp.EmulateViewport(390, 844))
	return b
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// until waits for what the page must come to say.
func (b *tab) until(condition string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](condition)); err != nil {
		said, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.querySelector('main').innerText`))
		b.t.Fatalf("never: %s: %v\n%s", condition, err, said)
	}
}

func (b *tab) offline(is bool) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Offline: is, DownloadThroughput: -1, UploadThroughput: -1}},
	})
	if err == nil {
		_, err = chromedp.Call(b.ctx, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: is, DownloadThroughput: -1, UploadThroughput: -1})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// openReview comes by the link of Carla, who reads Portuguese.
func (b *tab) openReview(v *reviewing, id int64) {
	b.t.Helper()
	storetest.Exec(b.t, v.pool, `UPDATE people SET locale = 'pt-BR' WHERE id = $1`, v.company.People[2])
	token, _ := v.token(v.cycle, 2)
	b.do(chromedp.Navigate(v.server.URL+"/r/"+token), chromedp.Click(chromedp.CSS("main form button")), chromedp.WaitVisible(chromedp.CSS(".rows")),
		chromedp.Navigate(v.server.URL+path(id, "")), chromedp.WaitReady(chromedp.CSS("form[data-review]")))
	b.until(`document.querySelector('[data-without-script]').hidden`)
}

const status = `document.querySelector('.autosave').innerText.trim()`

func TestTheReviewSavesItself(t *testing.T) {
	v := newReviewing(t)
	phone := newTab(t)
	if phone == nil {
		return
	}
	id := v.reviews(v.cycle, 2)[0]
	phone.openReview(v, id)

	text := chromedp.CSS("textarea[name='q.comentario']")
	phone.do(chromedp.SendKeys(text, "um"))
	phone.until(status + `.startsWith('Salvo às')`)
	phone.until(`document.querySelector('[data-answered]').textContent === '1 de 6'`)
	if got := v.text(id); got != "um" {
		t.Errorf("saved %q", got)
	}

	phone.offline(true)
	phone.do(chromedp.SendKeys(text, " dois"))
	phone.until(status + `.startsWith('Não salvo desde ')`)
	phone.do(chromedp.SendKeys(text, " três"))
	phone.offline(false)
	phone.until(status + `.startsWith('Salvo às') && document.querySelector('[name=version]').value === '3'`)
	if got := v.text(id); got != "um dois três" {
		t.Errorf("after the connection came back it saved %q", got)
	}
	kept, err := chromedp.Run(phone.ctx, chromedp.Evaluate[float64](`localStorage.length + sessionStorage.length`))
	if err != nil || kept != 0 {
		t.Errorf("%v items are kept in the browser (%v)", kept, err)
	}

	// another window saves something newer: this one is told and overwrites nothing
	other := v.as(v.company.Actor(2))
	other.post(path(id, "/draft"), "version", "3", "q.comentario", "da outra janela").want(t, http.StatusSeeOther)
	phone.do(chromedp.SendKeys(text, " quatro"))
	phone.until(`document.getElementById('problem').innerText.includes('foi salva em outra janela')`)
	if got := v.text(id); got != "da outra janela" {
		t.Errorf("the stale page left %q", got)
	}
	other.get(path(id, "")).want(t, http.StatusOK, fmt.Sprintf("%s</textarea>", "da outra janela"))
}

func TestASubmitWaitsForTheSaveUnderWay(t *testing.T) {
	v := newReviewing(t)
	phone := newTab(t)
	if phone == nil {
		return
	}
	id := v.reviews(v.cycle, 2)[0]
	phone.openReview(v, id)
	for _, choice := range []string{"q.qualidade'][value='4", "q.comunicacao'][value='na", "q.colaboracao'][value='3", "q.metas'][value='5", "q.proximo-passo'][value='apoio"} {
		phone.do(chromedp.Click(chromedp.CSS("input[name='" + choice + "']")))
	}
	// hiding the page starts a save; the press of the button meets it under way
	if _, err := chromedp.Run(phone.ctx, chromedp.Evaluate[bool](`
		Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
		document.dispatchEvent(new Event("visibilitychange"));
		document.querySelector(".actionbar button").click(); true`)); err != nil {
		t.Fatal(err)
	}
	phone.do(chromedp.WaitVisible(chromedp.CSS("form[action$=submission]")), chromedp.Click(chromedp.CSS("form[action$=submission] button")), chromedp.WaitVisible(chromedp.CSS(".rows")))
	if got := v.state(id); got != "submitted" {
		t.Errorf("the review is %s", got)
	}
}
