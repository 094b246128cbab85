package store_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/policy"
	"ciclo/store/storetest"
)

func TestReadyFormsAreThereOnceAndStayAsTheyWereEdited(t *testing.T) {
	s, pool, company := open(t, 3)
	for range 2 {
		if err := s.EnsureReadyForms(t.Context(), company.Tenant); err != nil {
			t.Fatal(err)
		}
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM form_versions WHERE tenant_id = $1`, company.Tenant); n != 3 {
		t.Errorf("%d versions, want the company's own and two ready ones", n)
	}
	forms, err := s.Forms(t.Context(), company.Admin)
	if err != nil {
		t.Fatal(err)
	}
	for i, ready := range appraisal.ReadyForms() {
		if d := cmp.Diff(ready.Content, forms[i+1].Latest().Content); d != "" {
			t.Errorf("%s (-want +got):\n%s", ready.Code, d)
		}
	}
}

func TestAFormGrowsByVersions(t *testing.T) {
	s, pool, company := open(t, 3)
	content := appraisal.ReadyForms()[1].Content
	f, err := s.CreateForm(t.Context(), company.HR, content)
	if err != nil {
		t.Fatal(err)
	}
	twin, err := s.CreateForm(t.Context(), company.HR, content)
	if err != nil {
		t.Fatal(err)
	}
	if f.Code != "avaliacao-de-experiencia" || twin.Code != "avaliacao-de-experiencia-2" {
		t.Errorf("codes %s and %s", f.Code, twin.Code)
	}
	content.Title.EN = "Trial Review"
	f, err = s.SaveForm(t.Context(), company.HR, f.ID, 1, content)
	if err != nil {
		t.Fatal(err)
	}
	if v := f.Latest(); v.Number != 2 || v.Content.Title.EN != "Trial Review" || v.CreatedBy != company.HR.Name || f.Versions[1].Content.Title.EN != "Probation Review" {
		t.Errorf("versions %+v", f.Versions)
	}
	if f, err = s.SaveForm(t.Context(), company.HR, f.ID, 2, content); err != nil || len(f.Versions) != 2 {
		t.Errorf("saving what is there made version %d (%v)", f.Latest().Number, err)
	}
	content.Title.EN = "Late Review"
	f, err = s.SaveForm(t.Context(), company.HR, f.ID, 1, content)
	if fault.KindOf(err) != fault.Conflict || f.Latest().Number != 2 {
		t.Errorf("a save on version 1 gives %v, latest %d", err, f.Latest().Number)
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM audit_entries WHERE act = 'form.version_saved'`); n != 3 {
		t.Errorf("%d audit entries, want 3", n)
	}
	if _, err := pool.Exec(t.Context(), `UPDATE form_versions SET number = 9`); err == nil {
		t.Error("a version was changed")
	}
}

func TestTwoEditorsMakeOneVersion(t *testing.T) {
	s, _, company := open(t, 3)
	f, err := s.CreateForm(t.Context(), company.HR, appraisal.ReadyForms()[0].Content)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			content := appraisal.ReadyForms()[0].Content
			content.Title.PT = string(rune('A' + i))
			_, errs[i] = s.SaveForm(context.WithoutCancel(t.Context()), company.HR, f.ID, 1, content)
		})
	}
	wg.Wait()
	saved := 0
	for _, err := range errs {
		switch fault.KindOf(err) {
		case fault.None:
			saved++
		case fault.Conflict:
		default:
			t.Error(err)
		}
	}
	if saved != 1 {
		t.Errorf("%d editors saved, want one", saved)
	}
}

func TestFormsAreForThoseWhoMay(t *testing.T) {
	s, pool, company := open(t, 3)
	other := storetest.NewCompany(t, pool, "Jatobá", 3)
	content := appraisal.ReadyForms()[0].Content
	f, err := s.CreateForm(t.Context(), company.HR, content)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		by   policy.Actor
		see  fault.Kind
		save fault.Kind
	}{
		{"the HR manager", company.HR, fault.None, fault.None},
		{"the admin only looks", company.Admin, fault.None, fault.Forbidden},
		{"a colleague", company.Actor(2), fault.Forbidden, fault.Forbidden},
		{"another organisation", other.HR, fault.NotFound, fault.NotFound},
		{"nobody", policy.Actor{}, fault.NotFound, fault.NotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := s.Form(t.Context(), tt.by, f.ID); fault.KindOf(err) != tt.see {
				t.Errorf("Form() = %v, want %v", err, tt.see)
			}
			if _, err := s.SaveForm(t.Context(), tt.by, f.ID, 1, content); fault.KindOf(err) != tt.save {
				t.Errorf("SaveForm() = %v, want %v", err, tt.save)
			}
		})
	}
	bad := content
	bad.Title.EN = ""
	if _, err := s.CreateForm(t.Context(), company.HR, bad); fault.KindOf(err) != fault.Invalid {
		t.Errorf("half a title: %v", err)
	}
}
