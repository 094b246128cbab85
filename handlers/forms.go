package handlers

import (
	"fmt"
	"net/http"
	"strconv"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/policy"
	"ciclo/views"
)

// listForms answers GET /forms.
func (h *Handlers) listForms(w http.ResponseWriter, r *http.Request) error {
	forms, err := h.store.Forms(r.Context(), actor(r))
	if err != nil {
		return err
	}
	return h.show(w, r, views.FormsPage(forms), nil)
}

// showForm answers GET /forms/{id}: its latest version, or ?version=2.
func (h *Handlers) showForm(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	f, err := h.store.Form(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	v, err := versionAsked(f, r.URL.Query().Get("version"))
	if err != nil {
		return err
	}
	return h.show(w, r, views.FormPage(f, v), nil)
}

func versionAsked(f appraisal.Form, asked string) (appraisal.FormVersion, error) {
	for _, v := range f.Versions {
		if asked == "" || strconv.Itoa(v.Number) == asked {
			return v, nil
		}
	}
	return appraisal.FormVersion{}, fault.NotFoundf("fault.not_found")
}

// startForm answers GET /forms/draft: what to start from, then the editor.
func (h *Handlers) startForm(w http.ResponseWriter, r *http.Request) error {
	if err := mayEditForms(r); err != nil {
		return err
	}
	from := r.URL.Query().Get("from")
	if from == "" {
		forms, err := h.store.Forms(r.Context(), actor(r))
		if err != nil {
			return err
		}
		return h.show(w, r, views.FormStartPage(forms), nil)
	}
	content, err := h.contentFrom(r, from)
	if err != nil {
		return err
	}
	return h.show(w, r, views.FormEditorPage(views.DraftOf(0, 0, content)), nil)
}

// contentFrom answers what a new form starts with: nothing, a ready form by its
// code, or one of the organisation's by its number.
func (h *Handlers) contentFrom(r *http.Request, from string) (appraisal.FormContent, error) {
	if from == "blank" {
		return appraisal.FormContent{}, nil
	}
	for _, ready := range appraisal.ReadyForms() {
		if ready.Code == from {
			return ready.Content, nil
		}
	}
	id, ok := parseID(from)
	if !ok {
		return appraisal.FormContent{}, fault.NotFoundf("fault.not_found")
	}
	f, err := h.store.Form(r.Context(), actor(r), id)
	return f.Latest().Content, err
}

// createForm answers POST /forms/draft: a button of the editor, or the end of it.
func (h *Handlers) createForm(w http.ResponseWriter, r *http.Request) error {
	draft, shaped, err := readDraft(r, 0)
	if err != nil {
		return err
	}
	if shaped {
		return h.show(w, r, views.FormEditorPage(draft), nil)
	}
	var f appraisal.Form
	content, err := draft.Content()
	if err == nil {
		f, err = h.store.CreateForm(r.Context(), actor(r), content)
	}
	if err != nil {
		return h.refuseDraft(w, r, draft, err)
	}
	h.say(r, "form.created")
	return h.redirect(w, r, fmt.Sprintf("/forms/%d", f.ID))
}

// editForm answers GET /forms/{id}/draft.
func (h *Handlers) editForm(w http.ResponseWriter, r *http.Request) error {
	if err := mayEditForms(r); err != nil {
		return err
	}
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	f, err := h.store.Form(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	v := f.Latest()
	return h.show(w, r, views.FormEditorPage(views.DraftOf(id, v.Number, v.Content)), nil)
}

// saveForm answers POST /forms/{id}/draft: a button of the editor, or a new version.
func (h *Handlers) saveForm(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	draft, shaped, err := readDraft(r, id)
	if err != nil {
		return err
	}
	// a form that is not theirs is not there, whatever was typed
	if _, err := h.store.Form(r.Context(), actor(r), id); err != nil {
		return err
	}
	if shaped {
		return h.show(w, r, views.FormEditorPage(draft), nil)
	}
	content, err := draft.Content()
	if err != nil {
		return h.refuseDraft(w, r, draft, err)
	}
	f, err := h.store.SaveForm(r.Context(), actor(r), id, draft.Based, content)
	if err != nil {
		// What was typed now stands beside the latest version: to save once
		// more is to save on top of it, knowingly.
		draft.Based = f.Latest().Number
		return h.refuseDraft(w, r, draft, err)
	}
	h.say(r, savedWord(f, draft.Based), "n", f.Latest().Number)
	return h.redirect(w, r, fmt.Sprintf("/forms/%d", id))
}

func savedWord(f appraisal.Form, based int) string {
	if f.Latest().Number == based {
		return "form.unchanged"
	}
	return "form.saved"
}

// mayEditForms is asked before the editor is shown; nothing is written yet, and
// the store asks again when it is.
func mayEditForms(r *http.Request) error {
	return policy.Can(actor(r), policy.EditForms, policy.Of(actor(r)))
}

// readDraft reads the editor's page and does what its button asks; shaped says
// that the button changed the draft's shape, so that it is only drawn again.
func readDraft(r *http.Request, id int64) (draft views.FormDraft, shaped bool, err error) {
	if err := mayEditForms(r); err != nil {
		return draft, false, err
	}
	in, err := readForm(r)
	if err != nil {
		return draft, false, err
	}
	draft = views.ReadFormDraft(id, in.values)
	return draft, draft.Do(in.values.Get("do")), nil
}

// refuseDraft draws the editor again with what is wrong.
func (h *Handlers) refuseDraft(w http.ResponseWriter, r *http.Request, draft views.FormDraft, err error) error {
	if kind := fault.KindOf(err); kind != fault.Invalid && kind != fault.Conflict {
		return err
	}
	draft.Refuse(err)
	return h.refuse(w, r, err, views.FormEditorPage(draft), nil)
}
