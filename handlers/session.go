package handlers

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net/http"

	"github.com/gorilla/sessions"

	"ciclo/internal/fault"
	"ciclo/store"
	"ciclo/views"
)

// sessionStore keeps gorilla's sessions in the database: the cookie holds a
// random token, the table its hash. Two of them exist, under two cookies, so
// that a session opened by a review link never touches that of an account.
type sessionStore struct {
	store   *store.Store
	cookie  string
	options sessions.Options
}

func newSessionStore(s *store.Store, cookie string, secure bool) *sessionStore {
	if secure {
		cookie = "__Host-" + cookie
	}
	return &sessionStore{store: s, cookie: cookie, options: sessions.Options{
		Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
	}}
}

// row is the key under which a session keeps what the database says of it;
// dirty marks values that the database has not got yet. Neither is stored.
type sessionKey string

const (
	rowKey   sessionKey = "row"
	dirtyKey sessionKey = "dirty"
)

// What a session carries between requests.
const (
	flashValue  = "flash"   // []views.Flash
	slipValue   = "slip"    // int64, the link whose slip's code was right
	choiceValue = "choices" // []store.Account whose password matched
	nextValue   = "next"    // where to go after the choice
)

func init() {
	gob.Register([]views.Flash{})
	gob.Register([]store.Account{})
}

// Get is sessions.Store: the request's session, read at most once.
func (s *sessionStore) Get(r *http.Request, name string) (*sessions.Session, error) {
	return sessions.GetRegistry(r).Get(s, name)
}

// New is sessions.Store: the session behind the request's cookie, or an empty
// one. An error means that the database could not say.
func (s *sessionStore) New(r *http.Request, name string) (*sessions.Session, error) {
	ss, options := sessions.NewSession(s, name), s.options
	ss.Options, ss.IsNew = &options, true
	c, err := r.Cookie(name)
	if err != nil || c.Value == "" || len(c.Value) > 100 {
		return ss, nil
	}
	row, err := s.store.ResumeSession(r.Context(), c.Value)
	if errors.Is(err, store.ErrNoSession) {
		return ss, nil
	}
	if err != nil {
		return ss, err
	}
	if len(row.Data) > 0 {
		if err := gob.NewDecoder(bytes.NewReader(row.Data)).Decode(&ss.Values); err != nil {
			ss.Values = map[any]any{} // written by another version of us: nothing in it is worth a failure
		}
	}
	ss.ID, ss.IsNew, ss.Values[rowKey] = row.Token, false, row
	return ss, nil
}

// Save is sessions.Store: it stores the values, or ends the session when its
// MaxAge is negative, and sets the cookie of a new one.
func (s *sessionStore) Save(r *http.Request, w http.ResponseWriter, ss *sessions.Session) error {
	if ss.Options.MaxAge < 0 {
		if ss.ID != "" {
			if err := s.store.EndSession(r.Context(), ss.ID); err != nil {
				return err
			}
		}
		http.SetCookie(w, sessions.NewCookie(s.cookie, "", ss.Options))
		return nil
	}
	row := rowOf(ss)
	delete(ss.Values, rowKey)
	delete(ss.Values, dirtyKey)
	data := []byte{}
	if len(ss.Values) > 0 {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(ss.Values); err != nil {
			return fmt.Errorf("encode session: %w", err)
		}
		data = b.Bytes()
	}
	var err error
	if ss.ID != "" {
		err = s.store.KeepSessionData(r.Context(), ss.ID, data)
	} else {
		row.Data = data
		if row, err = s.store.BeginSession(r.Context(), row); err == nil {
			ss.ID, ss.IsNew = row.Token, false
			http.SetCookie(w, sessions.NewCookie(s.cookie, row.Token, ss.Options))
		}
	}
	ss.Values[rowKey] = row
	return err
}

func rowOf(ss *sessions.Session) store.Session {
	row, _ := ss.Values[rowKey].(store.Session)
	return row
}

// account and link are the two sessions a request may have.
func (h *Handlers) account(r *http.Request) (*sessions.Session, error) {
	return h.accounts.Get(r, h.accounts.cookie)
}

func (h *Handlers) link(r *http.Request) (*sessions.Session, error) {
	return h.links.Get(r, h.links.cookie)
}

// current is the session that speaks for the request: the account's when
// somebody is signed in, else the link's, else the account's empty one.
func (h *Handlers) current(r *http.Request) (*sessions.Session, error) {
	acc, err := h.account(r)
	if err != nil || rowOf(acc).PersonID != 0 {
		return acc, err
	}
	link, err := h.link(r)
	if err != nil || rowOf(link).PersonID != 0 {
		return link, err
	}
	return acc, nil
}

// beginAccount signs a browser in: its old session ends, a new one with a new
// token begins, and a reviewer's session by link in the same browser ends too,
// so that two people never act in one browser unnoticed.
func (h *Handlers) beginAccount(w http.ResponseWriter, r *http.Request, a store.Account) error {
	ss, err := h.account(r)
	if err != nil {
		return err
	}
	if err := h.replaceSession(w, r, ss, store.Session{TenantID: a.TenantID, PersonID: a.PersonID}); err != nil {
		return err
	}
	return h.endLink(w, r)
}

// beginLink opens a session for one person's reviews of one cycle. It gives an
// account in the same browser nothing: when that very person is signed in their
// own session does, and when somebody else is, they must sign out first.
func (h *Handlers) beginLink(w http.ResponseWriter, r *http.Request, of store.Session) error {
	acc, err := h.account(r)
	if err != nil {
		return err
	}
	switch row := rowOf(acc); {
	case row.PersonID == of.PersonID && row.TenantID == of.TenantID:
		return nil
	case row.PersonID != 0:
		return fault.Conflictf("sign_in.other_account", "name", row.Name)
	}
	ss, err := h.link(r)
	if err != nil {
		return err
	}
	return h.replaceSession(w, r, ss, of)
}

func (h *Handlers) replaceSession(w http.ResponseWriter, r *http.Request, ss *sessions.Session, row store.Session) error {
	if ss.ID != "" {
		if err := h.store.EndSession(r.Context(), ss.ID); err != nil {
			return err
		}
	}
	ss.ID, ss.IsNew, ss.Values = "", true, map[any]any{rowKey: row}
	return ss.Save(r, w)
}

// endAccount and endLink sign the browser out of one session.
func (h *Handlers) endAccount(w http.ResponseWriter, r *http.Request) error {
	ss, err := h.account(r)
	if err != nil {
		return err
	}
	return end(w, r, ss)
}

func (h *Handlers) endLink(w http.ResponseWriter, r *http.Request) error {
	ss, err := h.link(r)
	if err != nil {
		return err
	}
	return end(w, r, ss)
}

func end(w http.ResponseWriter, r *http.Request, ss *sessions.Session) error {
	if ss.ID == "" {
		return nil
	}
	ss.Options.MaxAge = -1
	if err := ss.Save(r, w); err != nil {
		return err
	}
	options := *ss.Options
	options.MaxAge = 0
	ss.ID, ss.IsNew, ss.Options, ss.Values = "", true, &options, map[any]any{}
	return nil
}

// flash says, on the next page this browser sees, what has just happened.
func (h *Handlers) flash(r *http.Request, f views.Flash) {
	ss, err := h.current(r)
	if err != nil {
		return // the answer itself will say that the database is away
	}
	said, _ := ss.Values[flashValue].([]views.Flash)
	ss.Values[flashValue] = append(said, f)
	ss.Values[dirtyKey] = true
}

// say is flash for good news, by key of the catalogue.
func (h *Handlers) say(r *http.Request, key string, args ...any) {
	h.flash(r, views.Flash{Text: views.T(r.Context(), key, args...)})
}

// takeFlash answers what is to be said and forgets it.
func (h *Handlers) takeFlash(r *http.Request) []views.Flash {
	if !identified(r.Context()) {
		return nil
	}
	ss, err := h.current(r)
	if err != nil {
		return nil
	}
	said, _ := ss.Values[flashValue].([]views.Flash)
	if len(said) > 0 {
		delete(ss.Values, flashValue)
		ss.Values[dirtyKey] = true
	}
	return said
}

// keepSession stores what changed in the session; before the first body byte.
func (h *Handlers) keepSession(w http.ResponseWriter, r *http.Request) error {
	if !identified(r.Context()) {
		return nil
	}
	ss, err := h.current(r)
	if err != nil || ss.Values[dirtyKey] == nil {
		return nil // whoever needed the session has met the error already
	}
	if ss.ID == "" && len(ss.Values) == 1 { // only the mark: nothing to keep
		return nil
	}
	return ss.Save(r, w)
}

type identifiedKey struct{}

// identified reports whether identifyViewer has run: static files and health
// checks know no session and must not need the database.
func identified(ctx context.Context) bool { return ctx.Value(identifiedKey{}) != nil }
