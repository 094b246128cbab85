package e2e

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// patience is how long a person would wait for something to happen on a page; a
// loaded machine is given more than a quiet one needs.
const patience = 30 * time.Second

var (
	browsing   sync.Mutex
	browserCtx context.Context
	browserEnd []func()
	browserErr error
)

// browser is the one Chromium of this package. Without one the test is skipped,
// or fails when CI counts on it.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := chromium()
	if path == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no Chromium, and CI needs one")
		}
		t.Skip("there is no Chromium here: the browser journeys are skipped")
	}
	browsing.Lock()
	defer browsing.Unlock()
	if browserCtx == nil && browserErr == nil {
		opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.WindowSize(1280, 800), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
			chromedp.Flag("force-prefers-reduced-motion", true), chromedp.Flag("accept-lang", "pt-BR"), chromedp.UserDataDir(filepath.Join(scratch, "chromium")))
		allocator, end := chromedp.NewExecAllocator(context.Background(), opts...)
		ctx, endTab := chromedp.NewContext(allocator)
		// Once, before any second goroutine meets it: two first uses start two browsers.
		browserErr = chromedp.Do(ctx)
		browserCtx, browserEnd = ctx, []func(){func() { _ = chromedp.Cancel(ctx) }, endTab, end}
	}
	if browserErr != nil {
		t.Fatalf("start Chromium: %v", browserErr)
	}
	return browserCtx
}

func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func endBrowser() {
	for _, end := range browserEnd {
		end()
	}
}

// tab is one person's browser: its own window and cookies.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu       sync.Mutex
	wrong    []string
	expected []string
}

// newTab opens a window of that width. What its console says against the page
// fails the test.
func newTab(t *testing.T, base string, width int64) *tab {
	t.Helper()
	parent := browser(t)
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithNewBrowserContext())
	b := &tab{t: t, ctx: ctx, base: base}
	messages := chromedp.Console(ctx)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	// A page that asks before it lets go would hold everything up.
	if err := chromedp.Listen(ctx, func(ev any) {
		if d, ok := ev.(*page.EventJavascriptDialogOpening); ok {
			b.complain("a dialog of the browser's: " + d.Message)
			go func() {
				_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
			}()
		}
	}); err != nil {
		t.Fatal(err)
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == "error" || m.Type == "warning" || m.Source == "security" {
				b.complain(fmt.Sprintf("%s %s (%s:%d)", m.Type, m.Text, m.URL, m.Line+1))
			}
		}
	}()
	t.Cleanup(func() {
		if t.Failed() {
			b.report()
		}
		_ = chromedp.Cancel(ctx)
		cancel()
		<-heard
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, w := range b.wrong {
			if !b.allowed(w) {
				t.Errorf("the console says: %s", w)
			}
		}
	})
	b.resize(width)
	return b
}

// expects tells of an answer with this status that the test causes on purpose:
// Chromium writes every one of them to the console.
func (b *tab) expects(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, fmt.Sprintf("the server responded with a status of %d", status))
}

func (b *tab) allowed(said string) bool {
	for _, e := range b.expected {
		if strings.Contains(said, e) {
			return true
		}
	}
	return false
}

func (b *tab) complain(said string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, said)
}

// report shows what the person saw last.
func (b *tab) report() {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText.slice(0, 4000)`))
	if err != nil {
		b.t.Logf("the page cannot be read: %v", err)
		return
	}
	b.t.Log("the page shows:", text)
	if png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot()); err == nil {
		_ = os.WriteFile(filepath.Join(b.t.ArtifactDir(), "page.png"), png, 0o600)
	}
}

func (b *tab) resize(width int64) {
	b.t.Helper()
	b.do(func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: 844, DeviceScaleFactor: 1, Mobile: width < 600,
		})
		return err
	})
}

func (b *tab) do(act func(context.Context) error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := act(ctx); err != nil {
		b.t.Fatal(err)
	}
}

// open goes to a path by the address bar.
func (b *tab) open(path string) {
	b.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = b.base + path
	}
	b.do(func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.Navigate(path)) })
}

// ask evaluates an expression on the page.
func ask[T any](b *tab, js string) T {
	b.t.Helper()
	var v T
	b.do(func(ctx context.Context) (err error) {
		v, err = chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
		return err
	})
	return v
}

// until waits for an expression to become true, across navigations.
func (b *tab) until(what, js string) {
	b.t.Helper()
	until(b.t, what, patience, func() bool {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		defer cancel()
		yes, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`Boolean(`+js+`)`))
		return err == nil && yes // a page that is just leaving answers with an error
	})
}

// at waits until the address is one like this, and the page is whole.
func (b *tab) at(pattern string) {
	b.t.Helper()
	b.until("to be at "+pattern, `document.readyState === "complete" && new RegExp(`+quoted("^"+pattern+"$")+`).test(location.pathname + location.search)`)
}

// path is where the tab is.
func (b *tab) path() string { return ask[string](b, `location.pathname`) }

// sees waits until these words can be read on the page.
func (b *tab) sees(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		b.until("to see "+text, `document.body && document.body.innerText.replace(/\s+/g, " ").includes(`+quoted(text)+`)`)
	}
}

// tabWords finds things as a person does: by what they say, where they can be hit.
//
//go:embed testdata/find.js
var tabWords string

// press clicks what says this: a link, a button, a summary, a label, an option
// of a tab bar. It waits until a pointer would hit it.
func (b *tab) press(text string) { b.t.Helper(); b.hit("clickable(" + quoted(text) + ")") }

// pressAt clicks the first match of a selector.
func (b *tab) pressAt(selector string) {
	b.t.Helper()
	b.hit("document.querySelector(" + quoted(selector) + ")")
}

type place struct {
	X   float64 `json:"x"`
	Y   float64 `json:"y"`
	Why string  `json:"why"`
}

func (b *tab) hit(target string) {
	b.t.Helper()
	var at place
	until(b.t, "to hit "+target, patience, func() bool {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		defer cancel()
		var err error
		at, err = chromedp.Run(ctx, chromedp.Evaluate[place](tabWords+`; place(`+target+`)`))
		if err != nil {
			at.Why = err.Error()
		}
		return at.Why == ""
	})
	b.do(func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.MouseClickXY(at.X, at.Y)) })
}

// fill writes into the field with this label, over what was there.
func (b *tab) fill(label, value string) {
	b.t.Helper()
	b.until("a field "+label, `(() => {`+tabWords+`; return field(`+quoted(label)+`) })()`)
	if set := ask[bool](b, `(() => {`+tabWords+`; return fill(field(`+quoted(label)+`), `+quoted(value)+`) })()`); set {
		return
	}
	b.types(value)
}

// types writes where the focus is.
func (b *tab) types(text string) {
	b.t.Helper()
	b.do(func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
		return err
	})
}

// upload chooses a file of testdata.
func (b *tab) upload(name string) {
	b.t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "testdata", name))
	if err != nil {
		b.t.Fatal(err)
	}
	b.do(func(ctx context.Context) error {
		return chromedp.Do(ctx, chromedp.SetUploadFiles(chromedp.CSS(`main input[type="file"]`), []string{path}, chromedp.NodeReady))
	})
}

// signIn goes in by the front door.
func (b *tab) signIn(email string) {
	b.t.Helper()
	b.open("/login")
	b.fill("E-mail", email)
	b.fill("Senha", password)
	b.press("Entrar")
	b.at("/")
}

func quoted(s string) string {
	q, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(q)
}
