package e2e

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// axe-core 4.14.1, Deque Systems, Mozilla Public License 2.0: for tests only,
// never part of the binary. testdata/SHA256SUMS says which bytes.
//
//go:embed testdata/axe.min.js
var axe string

// violation is one rule that some elements of a page break.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML           string `json:"html"`
		FailureSummary string `json:"failureSummary"`
	} `json:"nodes"`
}

const everyRule = `{runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]}`

// what a theme or a width can change, of a page that keeps every other rule
const ruled = `{runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block", "target-size", "scrollable-region-focusable"]}}`

// audit runs axe on the page, or on a part of it.
func (b *tab) audit(part, rules string) []violation {
	b.t.Helper()
	if !ask[bool](b, `"axe" in window`) {
		ask[bool](b, axe+`; true`)
	}
	said := ask[string](b, `(async () => {
		// a colour on its way from one theme to the other is nobody's to read
		getComputedStyle(document.body).color;
		await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
		for (const a of document.getAnimations()) { try { a.finish(); } catch { a.cancel(); } }
		const r = await axe.run(`+part+`, {...`+rules+`, resultTypes: ["violations"], preload: false});
		return JSON.stringify(r.violations);
	})()`)
	var found []violation
	if err := json.Unmarshal([]byte(said), &found); err != nil {
		b.t.Fatal(err)
	}
	return found
}

func (b *tab) theme(scheme string) {
	b.t.Helper()
	b.do(func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		return err
	})
}

// findings are collected from several tabs and told once each.
type findings struct {
	mu    sync.Mutex
	where map[string][]string
}

func (f *findings) add(where, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.where[what], where) {
		f.where[what] = append(f.where[what], where)
	}
}

func (f *findings) violations(where string, found []violation) {
	for _, v := range found {
		for _, n := range v.Nodes {
			f.add(where, fmt.Sprintf("%s: %s\n    %.300s\n    %.400s", v.ID, v.Help, n.HTML, strings.ReplaceAll(n.FailureSummary, "\n", " ")))
		}
	}
}

func (f *findings) tell(t *testing.T) {
	t.Helper()
	for what, where := range f.where {
		sort.Strings(where)
		t.Errorf("%s\n    on %s", what, strings.Join(where[:min(len(where), 6)], ", "))
	}
}

// wider are the elements that make the page scroll sideways.
const wider = `(() => {
	const over = document.documentElement.scrollWidth - document.documentElement.clientWidth;
	if (over <= 0) return [];
	const out = [...document.querySelectorAll("body *")].filter((el) => el.getBoundingClientRect().right > innerWidth + 1 && el.checkVisibility());
	return ["the page scrolls sideways by " + over + " px: " + out.slice(-2).map((el) => el.outerHTML.slice(0, 160)).join(" … ")];
})()`

// small are the targets that a thumb misses. A radio or box is as large as the
// label around it; a link inside a sentence is as high as its line.
const small = `(() => [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")].filter((el) => {
	if (!el.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || el.closest(".skip, .vh")) return false;
	if (el.matches("a") && getComputedStyle(el).display === "inline" && el.parentElement.matches("p, li, dd, span") && el.parentElement.innerText.trim() !== el.innerText.trim()) return false;
	const box = (el.matches("input[type=radio], input[type=checkbox]") ? el.closest("label") || el : el).getBoundingClientRect();
	let height = box.height, width = box.width;
	const after = getComputedStyle(el, "::after");
	if (after.content !== "none" && after.position === "absolute") {
		height = Math.max(height, parseFloat(after.height) || 0); width = Math.max(width, parseFloat(after.width) || 0);
	}
	return height > 0 && (height < 43.5 || width < 43.5);
}).map((el) => "a target of " + Math.round(el.getBoundingClientRect().width) + " × " + Math.round(el.getBoundingClientRect().height) + " px: " + el.outerHTML.slice(0, 200)))()`

// TestEveryPageForEverybody opens every page in both themes, both languages, at
// a desk and on a phone, with its dialogs open and its faults shown.
func TestEveryPageForEverybody(t *testing.T) {
	t.Parallel()
	browser(t)
	demo := start(t, filepath.Join(scratch, "pages")) // its people change their language
	w := newWorld(t, demo)
	found := &findings{where: map[string][]string{}}

	people := map[string][]look{}
	pages := w.pages()
	for n, route := range slices.Sorted(maps.Keys(pages)) {
		for i, l := range pages[route] {
			l.first = i == 0
			tab := l.who
			if l.who == hrManager { // most pages are hers: two tabs, side by side
				tab += []string{"", " again"}[n%2]
			}
			people[tab] = append(people[tab], l)
		}
	}
	t.Run("as", func(t *testing.T) { // returns when all of them have
		for tab, looks := range people {
			t.Run(tab, func(t *testing.T) {
				t.Parallel()
				who := looks[0].who
				b := newTab(t, demo.url, 1280)
				switch who {
				case nobody:
				case byLink:
					b.open(w.link)
					b.pressAt("main form button")
					b.at("/reviews")
				default:
					b.signIn(who)
				}
				for _, l := range looks {
					b.look(l, found)
				}
				b.english()
				for _, l := range looks {
					if l.first {
						b.lookInEnglish(l, found)
					}
				}
			})
		}
	})
	found.tell(t)
}

// english chooses the language as the button of the page does.
func (b *tab) english() {
	b.t.Helper()
	b.expects(http.StatusNotFound)
	b.open("/nada")
	ask[bool](b, `fetch("/language", {method: "POST", body: new URLSearchParams({locale: "en"}), redirect: "manual"}).then(() => true)`)
}

// reach goes there and does what there is to do.
func (b *tab) reach(l look) {
	b.t.Helper()
	if l.gets != 0 {
		b.expects(l.gets)
	}
	b.open(l.path)
	if l.act != "" {
		b.do(func(ctx context.Context) error {
			return chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](`window.before = true; void (`+l.act+`)`))
		})
		b.until("the answer to "+l.path, `!window.before && document.readyState === "complete" && document.body.innerText`)
	}
}

// alike takes rows away of which two like them stay: what holds for those holds
// for the other forty, and axe looks at every one.
const alike = `(() => {
	const shape = (el) => el.tagName + "." + el.className + "(" + [...el.children].map(shape).join() + ")";
	for (const list of document.querySelectorAll("main tbody, main ul, main ol, main select")) {
		const seen = new Map();
		for (const row of [...list.children]) {
			const n = (seen.get(shape(row)) ?? 0) + 1;
			seen.set(shape(row), n);
			if (n > 2) row.remove();
		}
	}
	return true;
})()`

func (b *tab) look(l look, found *findings) {
	b.t.Helper()
	b.resize(390)
	b.theme("dark")
	b.reach(l)
	name := l.path
	if l.act != "" {
		name += " after sending"
	}
	ask[bool](b, `(document.querySelectorAll("details").forEach((d) => { d.open = true }), true)`)
	for _, what := range ask[[]string](b, wider) {
		found.add(name, what)
	}
	if l.who == byLink || strings.Contains(l.path, "/r/") {
		for _, what := range ask[[]string](b, small) {
			found.add(name, what)
		}
	}
	ask[bool](b, alike)
	if l.first { // the others are made of the same parts
		b.lookWith(ruled, name+" on a phone in the dark", found)
	}
	b.resize(1280)
	b.theme("light")
	b.lookWith(everyRule, name, found)
}

// lookWith audits the page with these rules, and each of its dialogs.
func (b *tab) lookWith(rules, name string, found *findings) {
	b.t.Helper()
	found.violations(name, b.audit("document", rules))
	for i := range ask[int](b, `document.querySelectorAll("dialog:not([open])").length`) {
		dialog := fmt.Sprintf(`document.querySelectorAll("dialog")[%d]`, i)
		ask[bool](b, `(`+dialog+`.showModal(), true)`)
		found.violations(fmt.Sprintf("%s, dialog %d", name, i+1), b.audit(dialog, rules))
		ask[bool](b, `(`+dialog+`.close(), true)`)
	}
}

// lookInEnglish sees that the other language's words fit too.
func (b *tab) lookInEnglish(l look, found *findings) {
	b.t.Helper()
	b.resize(390)
	b.theme("light")
	b.reach(l)
	name := l.path + " on a phone in English"
	for _, what := range ask[[]string](b, wider) {
		found.add(name, what)
	}
}
