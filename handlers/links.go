package handlers

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"ciclo/internal/fault"
	"ciclo/internal/i18n"
	"ciclo/store"
	"ciclo/views"
)

// showLink answers GET and HEAD /r/{token}. Mail scanners follow links, so it
// changes nothing, however often it is asked; the button on the page does.
func (h *Handlers) showLink(w http.ResponseWriter, r *http.Request) error {
	token := chi.URLParam(r, "token")
	owner, err := h.store.ReviewLink(r.Context(), h.keys, token)
	r = readAs(r, owner)
	if err != nil {
		return h.failLink(w, r, err)
	}
	return h.show(w, r, views.LinkPage(views.LinkLanding{
		Token: token, Person: owner.Person, Organisation: owner.Organisation,
		Cycle: owner.Cycle, Due: owner.Due, Open: owner.Open,
	}), nil)
}

// openLink answers POST /r/{token}: the person said who they are, and gets a
// session for their reviews of that cycle and nothing else.
func (h *Handlers) openLink(w http.ResponseWriter, r *http.Request) error {
	owner, err := h.store.OpenReviewLink(r.Context(), h.keys, chi.URLParam(r, "token"))
	if err == nil {
		err = h.beginLink(w, r, store.Session{TenantID: owner.TenantID, PersonID: owner.PersonID, CycleID: owner.CycleID})
	}
	if err != nil {
		return h.failLink(w, readAs(r, owner), err)
	}
	return h.redirect(w, r, "/reviews")
}

// failLink says why a link opens nothing, and where to get another.
func (h *Handlers) failLink(w http.ResponseWriter, r *http.Request, err error) error {
	f := fault.As(err)
	if f == nil || !strings.HasPrefix(f.Key, "review_link.") || f.Key == "review_link.left" {
		h.fail(w, r, err)
		return nil
	}
	title := views.T(r.Context(), titles[f.Kind])
	return h.refuse(w, r, err, views.DeadLinkPage(title, problemWords(r.Context(), err), requestID(r)), nil)
}

// readAs draws the answer for the link's owner, who has no session yet: under
// their organisation's name, and in their language unless this browser chose one.
func readAs(r *http.Request, owner store.LinkOwner) *http.Request {
	if owner.PersonID == 0 {
		return r
	}
	ctx := r.Context()
	v := views.ViewerFrom(ctx)
	if v.Actor.PersonID == 0 {
		v.Org, v.Zone = owner.Organisation, owner.Zone
		ctx = views.WithViewer(ctx, v)
	}
	if _, err := r.Cookie(languageCookie); err != nil {
		ctx = i18n.With(ctx, preferredLocale(r, owner.Locale))
	}
	return r.WithContext(ctx)
}
