package handlers

import (
	"net/http"
	"time"

	"ciclo/internal/i18n"
)

const choiceLasts = 365 * 24 * time.Hour

// chooseLanguage answers POST /language and comes back to the page. Who is
// signed in keeps the choice, and gets mails in it too.
func (h *Handlers) chooseLanguage(w http.ResponseWriter, r *http.Request) error {
	in, err := readForm(r)
	if err != nil {
		return err
	}
	locale := in.Choice("locale", string(i18n.PT), string(i18n.EN))
	if err := in.Faults(); err != nil {
		return err
	}
	if a := actor(r); a.PersonID != 0 {
		if err := h.store.ChooseLocale(r.Context(), a, locale); err != nil {
			return err
		}
	}
	h.setChoice(w, languageCookie, locale)
	return h.redirect(w, r, localPath(in.first("next")))
}

// chooseTheme answers POST /theme and comes back to the page.
func (h *Handlers) chooseTheme(w http.ResponseWriter, r *http.Request) error {
	in, err := readForm(r)
	if err != nil {
		return err
	}
	theme := in.Choice("theme", "auto", "light", "dark")
	if err := in.Faults(); err != nil {
		return err
	}
	h.setChoice(w, themeCookie, theme)
	return h.redirect(w, r, localPath(in.first("next")))
}

func (h *Handlers) setChoice(w http.ResponseWriter, name, value string) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(choiceLasts.Seconds()),
		HttpOnly: true, Secure: h.https, SameSite: http.SameSiteLaxMode,
	})
}
