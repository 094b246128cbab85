package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"ciclo/internal/fault"
	"ciclo/internal/i18n"
	"ciclo/internal/intake"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/views"
)

// showPeopleUpload answers GET /people/import.
func (h *Handlers) showPeopleUpload(w http.ResponseWriter, r *http.Request) error {
	if err := mayImportPeople(r); err != nil {
		return err
	}
	return h.show(w, r, views.PeopleUploadPage(views.Form{}), nil)
}

// mayImportPeople is asked before a file is read or an empty one given; the
// store asks again when something is kept.
func mayImportPeople(r *http.Request) error {
	return policy.Can(actor(r), policy.ImportPeople, policy.Of(actor(r)))
}

// showPeopleTemplate answers GET /people/import/template: an empty file with
// the columns we know, in the reader's words.
func (h *Handlers) showPeopleTemplate(w http.ResponseWriter, r *http.Request) error {
	if err := mayImportPeople(r); err != nil {
		return err
	}
	var names []string
	for _, c := range intake.PeopleColumns {
		names = append(names, views.Say(r.Context(), c.Field.Label()))
	}
	var b bytes.Buffer
	if err := intake.WriteCSV(&b, [][]string{names}); err != nil {
		return err
	}
	return h.download(w, i18n.T(r.Context(), "people.template_name"), "text/csv; charset=utf-8", b.Bytes())
}

// uploadPeople answers POST /people/import: the file is staged, nothing else.
func (h *Handlers) uploadPeople(w http.ResponseWriter, r *http.Request) error {
	if err := mayImportPeople(r); err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	name, body, err := uploadedFile(r, in)
	var id int64
	if err == nil {
		id, err = h.store.StagePeople(r.Context(), actor(r), name, body)
	}
	if form, mendable := refusedFile(in, err); mendable {
		return h.refuse(w, r, err, views.PeopleUploadPage(form), nil)
	}
	if err != nil {
		return err
	}
	return h.redirect(w, r, importURL(id))
}

// uploadedFile reads the file of a form; none chosen is a fault beside it.
func uploadedFile(r *http.Request, in *form) (name string, body []byte, err error) {
	file, head, err := r.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) || errors.Is(err, http.ErrNotMultipart) {
		in.Fault("file", "people.file_required")
		return "", nil, in.Faults()
	}
	if err != nil {
		return "", nil, fmt.Errorf("open the uploaded file: %w", err)
	}
	defer file.Close()
	if body, err = io.ReadAll(file); err != nil {
		return "", nil, fmt.Errorf("read the uploaded file: %w", err)
	}
	return head.Filename, body, nil
}

// refusedFile is the upload form again when the file itself is to blame.
func refusedFile(in *form, err error) (views.Form, bool) {
	f := fault.As(err)
	if f == nil || f.Kind != fault.Invalid && f.Kind != fault.TooLarge {
		return views.Form{}, false
	}
	in.Fault("file", f.Key, f.Args...)
	return in.View(), true
}

func importURL(id int64) string { return "/people/import/" + formatID(id) }

// showPeopleImport answers GET /people/import/{id}: the step that the file is at.
func (h *Handlers) showPeopleImport(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	l, err := listQuery(r, "", "line", "name")
	if err != nil {
		return err
	}
	p, err := h.store.PeopleImport(r.Context(), actor(r), id, linesQuery(l))
	if err != nil {
		return err
	}
	if p.State == store.ImportUploaded {
		return h.redirect(w, r, importURL(id)+"/columns")
	}
	return h.showImportStep(w, r, l, p, nil)
}

// linesQuery reads the filters of the preview. What changes nothing is left out
// until somebody asks for it.
func linesQuery(l views.List) store.PeopleLinesQuery {
	q := store.PeopleLinesQuery{Q: l.Q, Verdict: l.Get("r"), Note: l.Get("note"), Sort: l.Sort, Limit: l.Size, Offset: l.Offset()}
	switch {
	case q.Verdict == "all":
		q.Verdict = ""
	case q.Verdict == "":
		q.Verdict = "changes"
	}
	return q
}

// showImportStep draws the preview, or what the confirmed file did; err is why
// a confirmation was refused.
func (h *Handlers) showImportStep(w http.ResponseWriter, r *http.Request, l views.List, p store.PeopleImport, err error) error {
	l.Path, l.Target, l.Total, l.All = importURL(p.ID), views.PeopleLinesPanelID, p.Total, p.Lines
	v := importView(p)
	if f := fault.As(err); f != nil {
		v.Problem = &f.Message
	}
	if p.State == store.ImportConfirmed {
		return h.render(w, r, statusOf(err), views.PeopleImportedPage(v), nil)
	}
	if err != nil {
		return h.refuse(w, r, err, views.PeoplePreviewPage(l, v), views.PeopleLinesPanel(l, v))
	}
	return h.showList(w, r, l, views.PeoplePreviewPage(l, v), views.PeopleLinesPanel(l, v))
}

func importView(p store.PeopleImport) views.PeopleImport {
	v := views.PeopleImport{PeopleFile: fileView(p.PeopleFile), Verdicts: p.Verdicts, Notes: p.Notes, Untouched: p.Untouched, Decided: p.Decided, OpenZeros: p.OpenZeros, RolesLeftOut: p.RolesLeftOut}
	for _, l := range p.Page {
		line := views.PeopleLine{Row: l.Row, Verdict: l.Verdict, PersonID: l.PersonID, Manager: l.Manager, Problems: l.Problems, Notes: l.Notes, Choices: l.Choices}
		for _, c := range l.Changes {
			line.Changes = append(line.Changes, views.PersonChange(c))
		}
		for _, q := range l.Questions {
			asked := views.PeopleQuestion{Kind: q.Kind, Column: q.Column, Value: q.Value}
			for _, a := range q.Answers {
				asked.Answers = append(asked.Answers, views.PeopleAnswer(a))
			}
			line.Questions = append(line.Questions, asked)
		}
		v.Page = append(v.Page, line)
	}
	return v
}

func fileView(f store.PeopleFile) views.PeopleFile {
	return views.PeopleFile{ID: f.ID, FileName: f.FileName, Encoding: f.Encoding, Separator: f.Separator, Tab: f.Tab, Headers: f.Headers,
		Mapping: f.Mapping, DateOrder: f.DateOrder, Lines: f.Lines, ConfirmedAt: f.ConfirmedAt}
}

// showPeopleColumns answers GET /people/import/{id}/columns.
func (h *Handlers) showPeopleColumns(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	c, err := h.store.PeopleColumns(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	if c.State == store.ImportConfirmed {
		return h.redirect(w, r, importURL(id))
	}
	v := columnsView(c)
	return h.show(w, r, views.PeopleColumnsPage(v, v.Form()), nil)
}

func columnsView(c store.PeopleColumns) views.PeopleColumns {
	return views.PeopleColumns{PeopleFile: fileView(c.PeopleFile), Samples: c.Samples, Example: c.Example, Days: c.Days}
}

// mapPeopleColumns answers POST /people/import/{id}/columns: the lines are
// compared as the columns now read.
func (h *Handlers) mapPeopleColumns(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	mapping, order := chosenColumns(in)
	if err = in.Faults(); err == nil {
		err = h.store.ComparePeople(r.Context(), actor(r), id, mapping, order)
	}
	if form, mendable := in.Refused(err); mendable && fault.KindOf(err) == fault.Invalid {
		return h.refuseColumns(w, r, id, err, form)
	}
	if err != nil {
		return err
	}
	return h.redirect(w, r, importURL(id))
}

// chosenColumns reads what a person said about each column, and about the dates.
func chosenColumns(in *form) (mapping intake.Mapping, order intake.Order) {
	order = intake.Order(in.Choice("date_order", "", string(intake.OrderDMY), string(intake.OrderMDY)))
	for i := 0; i <= intake.MaxColumns; i++ {
		name := "column-" + strconv.Itoa(i)
		if _, there := in.values[name]; !there {
			break
		}
		mapping = append(mapping, intake.Field(in.first(name)))
	}
	in.first("columns")
	return mapping, order
}

func (h *Handlers) refuseColumns(w http.ResponseWriter, r *http.Request, id int64, cause error, form views.Form) error {
	c, err := h.store.PeopleColumns(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	return h.refuse(w, r, cause, views.PeopleColumnsPage(columnsView(c), form), nil)
}

// showPeopleConfirmation answers GET /people/import/{id}/confirmation: the
// dialog's question as a page.
func (h *Handlers) showPeopleConfirmation(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	p, err := h.store.PeopleImport(r.Context(), actor(r), id, store.PeopleLinesQuery{})
	if err != nil {
		return err
	}
	if p.State != store.ImportCompared || p.Accepted() == 0 {
		return h.redirect(w, r, importURL(id))
	}
	return h.show(w, r, views.PeopleConfirmationPage(importView(p)), nil)
}

// confirmPeople answers POST /people/import/{id}/confirmation.
func (h *Handlers) confirmPeople(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	done, err := h.store.ConfirmPeople(r.Context(), actor(r), id, in.Ticked("leave_out"))
	if fault.KindOf(err) == fault.Conflict {
		return h.refuseConfirmation(w, r, id, err)
	}
	if err != nil {
		return err
	}
	h.flash(r, views.Flash{Text: i18n.N(r.Context(), "people.imported", done.Created+done.Updated)})
	return h.redirect(w, r, importURL(id))
}

// refuseConfirmation shows the file as it stands now, with the reason on top.
func (h *Handlers) refuseConfirmation(w http.ResponseWriter, r *http.Request, id int64, cause error) error {
	l, err := listQuery(r, "", "line", "name")
	if err != nil {
		return err
	}
	p, err := h.store.PeopleImport(r.Context(), actor(r), id, linesQuery(l))
	if err != nil {
		return err
	}
	if p.State == store.ImportUploaded {
		return cause
	}
	return h.showImportStep(w, r, l, p, cause)
}

// downloadRejectedPeople answers GET /people/import/{id}/rejects.
func (h *Handlers) downloadRejectedPeople(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	sheet, why, err := h.store.RejectedPeople(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := sheet.WriteRejects(&b, i18n.T(r.Context(), "intake.rejects_header"), func(line int) string { return reasonWords(r.Context(), why[line]) }); err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.TrimSuffix(sheet.Name, ".csv"), ".CSV")
	return h.download(w, i18n.T(r.Context(), "people.rejects_name", "name", name), "text/csv; charset=utf-8", b.Bytes())
}

// reasonWords says everything that is wrong with one line.
func reasonWords(ctx context.Context, problems []intake.Problem) string {
	words := make([]string, len(problems))
	for i, p := range problems {
		words[i] = views.Say(ctx, p.Message())
	}
	return strings.Join(words, " ")
}
