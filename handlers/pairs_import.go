package handlers

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"

	"ciclo/internal/fault"
	"ciclo/internal/i18n"
	"ciclo/internal/intake"
	"ciclo/store"
	"ciclo/views"
)

// newPairsImport answers GET /cycles/{id}/imports/new.
func (h *Handlers) newPairsImport(w http.ResponseWriter, r *http.Request) error {
	return h.pairsImportForm(w, r, nil, views.Filled("mode", store.MergePairs))
}

func (h *Handlers) pairsImportForm(w http.ResponseWriter, r *http.Request, refusal error, form views.Form) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	head, err := h.store.Cycle(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	if err := head.Edit(); err != nil {
		return err
	}
	return h.refuse(w, r, refusal, views.PairsFilePage(head, form), nil)
}

// stagePairs answers POST /cycles/{id}/imports: the file is read and compared,
// and nothing of it is in the roster yet.
func (h *Handlers) stagePairs(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	head, err := h.store.Cycle(r.Context(), actor(r), id) // before the work of reading
	if err != nil {
		return err
	}
	if err := head.Edit(); err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	mode := in.Choice("mode", store.MergePairs, store.ReplacePairs)
	sheet, err := readSheet(r, in)
	var importID int64
	if err == nil {
		importID, err = h.store.StagePairs(r.Context(), actor(r), id, sheet, mode)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.pairsImportForm(w, r, err, form)
	}
	if err != nil {
		return err
	}
	return h.redirect(w, r, cycleURL(id, "imports/"+formatID(importID)))
}

// readSheet reads the file of a form; what is wrong with it stands beside it.
func readSheet(r *http.Request, in *form) (*intake.Sheet, error) {
	file, header, err := r.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) || errors.Is(err, http.ErrNotMultipart) {
		in.Fault("file", "pairs.file_required")
		return nil, in.Faults()
	}
	if err != nil {
		return nil, fault.Invalidf("fault.bad_request")
	}
	defer file.Close()
	body, err := io.ReadAll(file)
	if err != nil {
		return nil, fault.Invalidf("fault.bad_request")
	}
	sheet, err := store.ReadFile(r.Context(), header.Filename, body, intake.PairColumns)
	if f := fault.As(err); f != nil && f.Kind != fault.Busy {
		in.Fault("file", f.Key, f.Args...)
		return nil, in.Faults()
	}
	return sheet, errors.Join(err, in.Faults())
}

// showPairsImport answers GET /cycles/{id}/imports/{import}.
func (h *Handlers) showPairsImport(w http.ResponseWriter, r *http.Request) error {
	return h.pairsPreview(w, r, nil)
}

func (h *Handlers) pairsPreview(w http.ResponseWriter, r *http.Request, refusal error) error {
	id, importID, err := importIDs(r)
	if err != nil {
		return err
	}
	l, err := listQuery(r)
	if err != nil {
		return err
	}
	l.Path, l.Target = cycleURL(id, "imports/"+formatID(importID)), views.PairsPanelID
	p, err := h.store.PairsImport(r.Context(), actor(r), id, importID, store.PairsQuery{Page: pageOf(l), Verdict: l.Get("verdict")})
	if err != nil {
		return err
	}
	l.Total = p.Total
	preview := previewOf(p)
	if f := fault.As(refusal); f != nil {
		preview.Problem = &f.Message
	}
	if refusal != nil {
		return h.refuse(w, r, refusal, views.PairsPreviewPage(l, preview), views.PairsPreviewPanel(l, preview))
	}
	return h.showList(w, r, l, views.PairsPreviewPage(l, preview), views.PairsPreviewPanel(l, preview))
}

func previewOf(p store.PairsImport) views.PairsPreview {
	preview := views.PairsPreview{Head: p.Head, ID: p.ID, FileName: p.FileName,
		Understood: (&intake.Sheet{Encoding: p.Encoding, Separator: p.Separator, Tab: p.Tab}).Understood(), Replace: p.Mode == store.ReplacePairs,
		Lines: p.Lines, Confirmed: p.Confirmed, Counts: p.Counts, Changes: p.Changes()}
	for _, l := range p.Page {
		preview.Page = append(preview.Page, views.PairLine(l))
	}
	return preview
}

func importIDs(r *http.Request) (cycle, importID int64, err error) {
	if cycle, err = pathID(r, "id"); err != nil {
		return 0, 0, err
	}
	importID, err = pathID(r, "import")
	return cycle, importID, err
}

// showPairsConfirmation answers GET /cycles/{id}/imports/{import}/confirmation.
func (h *Handlers) showPairsConfirmation(w http.ResponseWriter, r *http.Request) error {
	id, importID, err := importIDs(r)
	if err != nil {
		return err
	}
	p, err := h.store.PairsImport(r.Context(), actor(r), id, importID, store.PairsQuery{Page: store.Page{Limit: 1}})
	if err != nil {
		return err
	}
	return h.show(w, r, views.PairsConfirmationPage(previewOf(p)), nil)
}

// confirmPairs answers POST /cycles/{id}/imports/{import}/confirmation. Where
// things have changed since the preview, it comes back up to date with 409.
func (h *Handlers) confirmPairs(w http.ResponseWriter, r *http.Request) error {
	id, importID, err := importIDs(r)
	if err != nil {
		return err
	}
	done, err := h.store.ConfirmPairs(r.Context(), actor(r), id, importID)
	if fault.KindOf(err) == fault.Conflict {
		return h.pairsPreview(w, r, err)
	}
	if err != nil {
		return err
	}
	h.flash(r, views.Flash{Text: views.Tally(r.Context(), views.T(r.Context(), "pairs.done"),
		views.Tallied{Key: "added", N: done.Created}, views.Tallied{Key: "changed", N: done.Updated},
		views.Tallied{Key: "removed", N: done.Removed}, views.Tallied{Key: "rejected", N: done.Rejected})})
	return h.redirect(w, r, cycleURL(id, "roster"))
}

// exportRejectedPairs answers GET /cycles/{id}/imports/{import}/rejected.csv.
func (h *Handlers) exportRejectedPairs(w http.ResponseWriter, r *http.Request) error {
	id, importID, err := importIDs(r)
	if err != nil {
		return err
	}
	headers, lines, err := h.store.RejectedPairs(r.Context(), actor(r), id, importID)
	if err != nil {
		return err
	}
	rows := [][]string{append([]string{i18n.T(r.Context(), "pairs.line")}, append(headers, i18n.T(r.Context(), "pairs.reason_header"))...)}
	for _, l := range lines {
		cells := make([]string, len(headers))
		copy(cells, l.Cells)
		rows = append(rows, append(append([]string{strconv.Itoa(l.Line)}, cells...), reasonWords(r.Context(), l.Problems)))
	}
	var b bytes.Buffer
	if err := intake.WriteCSV(&b, rows); err != nil {
		return err
	}
	return h.download(w, i18n.T(r.Context(), "pairs.rejected_file")+".csv", "text/csv; charset=utf-8", b.Bytes())
}
