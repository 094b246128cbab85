package handlers

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"ciclo/internal/fault"
	"ciclo/store"
	"ciclo/views"
)

// The shortest and the longest password.
const (
	passwordMin = 10
	passwordMax = 200
)

// showLogin answers GET /login; who is signed in already goes on.
func (h *Handlers) showLogin(w http.ResponseWriter, r *http.Request) error {
	next := localPath(r.URL.Query().Get("next"))
	if a := actor(r); a.PersonID != 0 && !a.ByLink() {
		return h.redirect(w, r, next)
	}
	return h.show(w, r, views.LoginPage(views.Filled("next", next)), nil)
}

// signIn answers POST /login. A password that opens several organisations
// leads to the choice between them; it is not asked for again.
func (h *Handlers) signIn(w http.ResponseWriter, r *http.Request) error {
	in, err := readForm(r)
	if err != nil {
		return err
	}
	next, email, password := in.first("next"), in.Line("email", 254), in.Secret("password", passwordMax)
	in.Require("email", "password")
	var accounts []store.Account
	if err = in.Faults(); err == nil {
		accounts, err = h.store.SignIn(r.Context(), email, password, h.clientIP(r))
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuse(w, r, err, views.LoginPage(form), nil)
	}
	if err != nil {
		return err
	}
	return h.enter(w, r, accounts, localPath(next))
}

// enter signs in to the only account, or keeps the matching ones for a choice.
func (h *Handlers) enter(w http.ResponseWriter, r *http.Request, accounts []store.Account, next string) error {
	if len(accounts) == 1 {
		if err := h.beginAccount(w, r, accounts[0]); err != nil {
			return err
		}
		return h.redirect(w, r, next)
	}
	ss, err := h.account(r)
	if err != nil {
		return err
	}
	if err := h.replaceSession(w, r, ss, store.Session{}); err != nil {
		return err
	}
	ss.Values[choiceValue], ss.Values[nextValue] = accounts, next
	if err := ss.Save(r, w); err != nil {
		return err
	}
	return h.redirect(w, r, "/login/organisation")
}

// choices are the accounts whose password this browser has just given.
func (h *Handlers) choices(r *http.Request) (accounts []store.Account, next string, err error) {
	ss, err := h.account(r)
	if err != nil {
		return nil, "", err
	}
	accounts, _ = ss.Values[choiceValue].([]store.Account)
	next, _ = ss.Values[nextValue].(string)
	return accounts, next, nil
}

// showOrganisationChoice answers GET /login/organisation.
func (h *Handlers) showOrganisationChoice(w http.ResponseWriter, r *http.Request) error {
	accounts, _, err := h.choices(r)
	if err != nil {
		return err
	}
	if len(accounts) == 0 {
		return h.redirect(w, r, "/login")
	}
	options := make([]views.Option, len(accounts))
	for i, a := range accounts {
		options[i] = views.Option{Value: formatID(a.PersonID), Text: a.Org}
	}
	return h.show(w, r, views.OrganisationPage(options), nil)
}

// chooseOrganisation answers POST /login/organisation.
func (h *Handlers) chooseOrganisation(w http.ResponseWriter, r *http.Request) error {
	in, err := readForm(r)
	if err != nil {
		return err
	}
	accounts, next, err := h.choices(r)
	if err != nil {
		return err
	}
	person := in.ID("person")
	for _, a := range accounts {
		if a.PersonID == person {
			return h.enter(w, r, []store.Account{a}, localPath(next))
		}
	}
	return h.redirect(w, r, "/login")
}

// signOut answers POST /logout: both sessions of this browser end.
func (h *Handlers) signOut(w http.ResponseWriter, r *http.Request) error {
	by := actor(r)
	if err := h.endAccount(w, r); err != nil {
		return err
	}
	if err := h.endLink(w, r); err != nil {
		return err
	}
	w.Header().Set("Clear-Site-Data", `"cache"`) // nothing is left behind Back on a shared phone
	switch {
	case by.Slip:
		h.say(r, "slip.signed_out")
		return h.redirect(w, r, "/acesso")
	case by.ByLink():
		h.say(r, "review.signed_out")
	}
	return h.redirect(w, r, "/login")
}

// showPassword answers GET /password/{token}; looking uses nothing up.
func (h *Handlers) showPassword(w http.ResponseWriter, r *http.Request) error {
	account, err := h.store.PasswordLink(r.Context(), chi.URLParam(r, "token"))
	if fault.KindOf(err) == fault.NotFound {
		h.answerProblem(w, r, http.StatusNotFound, "password.gone_title", problemWords(r.Context(), err))
		return nil
	}
	if err != nil {
		return err
	}
	return h.show(w, r, views.PasswordPage(account.Name, account.Org, views.Form{}), nil)
}

// setPassword answers POST /password/{token}.
func (h *Handlers) setPassword(w http.ResponseWriter, r *http.Request) error {
	token := chi.URLParam(r, "token")
	account, err := h.store.PasswordLink(r.Context(), token)
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	password := newPassword(in)
	if err = in.Faults(); err == nil {
		err = h.store.SetPassword(r.Context(), token, password)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuse(w, r, err, views.PasswordPage(account.Name, account.Org, form), nil)
	}
	if err != nil {
		return err
	}
	h.say(r, "password.saved")
	return h.redirect(w, r, "/login")
}

// newPassword reads a password that is typed twice.
func newPassword(in *form) string {
	password, again := in.Secret("password", passwordMax), in.Secret("again", passwordMax)
	in.Require("password", "again")
	switch {
	case len([]rune(password)) < passwordMin:
		in.Fault("password", "password.short", "min", passwordMin)
	case password != again:
		in.Fault("again", "password.differs")
	}
	return password
}
