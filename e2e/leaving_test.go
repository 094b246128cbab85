package e2e

import (
	"strings"
	"testing"
)

// TestLeavingUnsavedTextIsAsked: a page that holds what was not saved asks
// before it lets go, and one whose text is saved does not.
func TestLeavingUnsavedTextIsAsked(t *testing.T) {
	t.Parallel()
	demo := shared(t)
	_, link := invitation(t, demo.url, "thais.nobrega@demo.example", "Avaliação de Desempenho 2026.2")
	b := newTab(t, demo.url, 1280)
	asked := func() (n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, w := range b.wrong {
			if strings.HasPrefix(w, "a dialog of the browser's") {
				n++
			}
		}
		return n
	}
	b.open(link)
	b.press("Sou eu, abrir avaliações")
	b.at("/reviews")
	b.hit(`[...document.querySelectorAll("main .rows__title")].find((a) => !a.closest("li").innerText.includes("Enviada"))`)
	b.at(`/reviews/\d+`)
	form := b.path()
	const field = `document.querySelector("form[data-review] div.question textarea")`
	b.hit(field)
	b.types("Primeiro parágrafo.")
	b.until("it to be saved", `document.querySelector(".autosave").dataset.state === "saved" && `+field+`.value.includes("Primeiro")`)
	b.open("/reviews")
	if n := asked(); n != 0 {
		t.Errorf("a saved page asked %d times", n)
	}
	b.open(form)
	b.hit(field)
	ask[bool](b, `(window.fetch = () => new Promise(() => {}), true)`) // the connection hangs
	b.types(" E um segundo.")
	b.mu.Lock()
	b.expected = append(b.expected, "a dialog of the browser's")
	b.mu.Unlock()
	b.open("/reviews")
	if n := asked(); n != 1 {
		t.Errorf("a page with unsaved text asked %d times, want once", n)
	}
}
