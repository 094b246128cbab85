package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
	"golang.org/x/text/unicode/norm"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/policy"
)

// Forms lists the organisation's forms by title, each with its latest version.
func (s *Store) Forms(ctx context.Context, by policy.Actor) (forms []appraisal.Form, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.SeeForms, policy.Of(by)); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, `
			SELECT DISTINCT ON (f.id)
			       f.id, f.code, f.created_at, v.id, v.number, v.content, coalesce(p.name, ''), v.created_at,
			       (SELECT count(*)
			        FROM cycles c
			        JOIN form_versions cv ON cv.tenant_id = c.tenant_id AND cv.id = c.form_version_id
			        WHERE cv.tenant_id = f.tenant_id
			          AND cv.form_id = f.id)
			FROM forms f
			JOIN form_versions v ON v.tenant_id = f.tenant_id AND v.form_id = f.id
			LEFT JOIN people p ON p.tenant_id = v.tenant_id AND p.id = v.created_by
			WHERE f.tenant_id = @tenant
			ORDER BY f.id, v.number DESC`,
			pgx.NamedArgs{"tenant": by.TenantID})
		forms, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (f appraisal.Form, err error) {
			var v appraisal.FormVersion
			err = row.Scan(&f.ID, &f.Code, &f.CreatedAt, &v.ID, &v.Number, &v.Content, &v.CreatedBy, &v.CreatedAt, &v.Cycles)
			v.FormID, f.Versions = f.ID, []appraisal.FormVersion{v}
			return f, err
		})
		if err != nil {
			return fmt.Errorf("list forms: %w", err)
		}
		return nil
	})
	return forms, err
}

// Form answers one form with all its versions, newest first.
func (s *Store) Form(ctx context.Context, by policy.Actor, id int64) (f appraisal.Form, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.SeeForms, policy.Of(by)); err != nil {
			return err
		}
		f, err = readForm(ctx, tx, by.TenantID, id)
		return err
	})
	return f, err
}

// CreateForm keeps a new form with its first version. Its code comes from the
// Portuguese title.
func (s *Store) CreateForm(ctx context.Context, by policy.Actor, content appraisal.FormContent) (f appraisal.Form, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.EditForms, policy.Of(by)); err != nil {
			return err
		}
		if err := content.Validate(); err != nil {
			return err
		}
		f.Code = formCode(content.Title.PT)
		if f.ID, err = addForm(ctx, tx, by.TenantID, f.Code); err != nil {
			return err
		}
		if err := addVersion(ctx, tx, by, f.ID, 1, content); err != nil {
			return err
		}
		f, err = readForm(ctx, tx, by.TenantID, f.ID)
		return err
	})
	return f, err
}

// SaveForm keeps content as the form's next version, if based is still the
// latest one. Earlier versions stay as they are, and so do the cycles that ask
// them. Content that changes nothing makes no version. The form is answered as
// it now stands, with a Conflict as well.
func (s *Store) SaveForm(ctx context.Context, by policy.Actor, id int64, based int, content appraisal.FormContent) (f appraisal.Form, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.EditForms, policy.Of(by)); err != nil {
			return err
		}
		if err := content.Validate(); err != nil {
			return err
		}
		if f, err = lockForm(ctx, tx, by.TenantID, id); err != nil {
			return err
		}
		latest := f.Latest()
		switch {
		case latest.Number != based:
			return fault.Conflictf("form.changed_meanwhile", "number", latest.Number, "who", latest.CreatedBy, "based", based)
		case reflect.DeepEqual(latest.Content, content):
			return nil
		}
		if err := addVersion(ctx, tx, by, id, latest.Number+1, content); err != nil {
			return err
		}
		f, err = readForm(ctx, tx, by.TenantID, id)
		return err
	})
	return f, err
}

// EnsureReadyForms gives an organisation the forms that everybody starts with.
// What it has already, it keeps.
func (s *Store) EnsureReadyForms(ctx context.Context, tenant int64) error {
	return s.inTx(ctx, func(tx pgx.Tx) error { return ensureReadyForms(ctx, tx, tenant) })
}

// ensureReadyForms is EnsureReadyForms inside the transaction that makes the
// organisation.
func ensureReadyForms(ctx context.Context, tx pgx.Tx, tenant int64) error {
	for _, ready := range appraisal.ReadyForms() {
		_, err := tx.Exec(ctx, `
			WITH added AS (
				INSERT INTO forms (tenant_id, code)
				VALUES (@tenant, @code)
				ON CONFLICT ON CONSTRAINT forms_code_key DO NOTHING
				RETURNING id
			)
			INSERT INTO form_versions (tenant_id, form_id, number, content)
			SELECT @tenant, id, 1, @content
			FROM added`,
			pgx.NamedArgs{"tenant": tenant, "code": ready.Code, "content": ready.Content})
		if err != nil {
			return fmt.Errorf("add ready form %s: %w", ready.Code, err)
		}
	}
	return nil
}

// lockForm holds a form's row, so that two versions cannot take one number.
func lockForm(ctx context.Context, tx pgx.Tx, tenant, id int64) (appraisal.Form, error) {
	if _, err := tx.Exec(ctx, `
		SELECT FROM forms
		WHERE tenant_id = @tenant
		  AND id = @id
		FOR NO KEY UPDATE`, pgx.NamedArgs{"tenant": tenant, "id": id}); err != nil {
		return appraisal.Form{}, fmt.Errorf("lock form %d: %w", id, err)
	}
	return readForm(ctx, tx, tenant, id)
}

// readForm reads a form and its versions, or answers NotFound.
func readForm(ctx context.Context, tx pgx.Tx, tenant, id int64) (f appraisal.Form, err error) {
	err = tx.QueryRow(ctx, `
		SELECT id, code, created_at
		FROM forms
		WHERE tenant_id = @tenant
		  AND id = @id`,
		pgx.NamedArgs{"tenant": tenant, "id": id}).Scan(&f.ID, &f.Code, &f.CreatedAt)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return f, fault.NotFoundf("fault.not_found")
	case err != nil:
		return f, fmt.Errorf("read form %d: %w", id, err)
	}
	rows, _ := tx.Query(ctx, `
		SELECT v.id, v.form_id, v.number, v.content, coalesce(p.name, ''), v.created_at,
		       (SELECT count(*)
		        FROM cycles c
		        WHERE c.tenant_id = v.tenant_id
		          AND c.form_version_id = v.id)
		FROM form_versions v
		LEFT JOIN people p ON p.tenant_id = v.tenant_id AND p.id = v.created_by
		WHERE v.tenant_id = @tenant
		  AND v.form_id = @id
		ORDER BY v.number DESC`,
		pgx.NamedArgs{"tenant": tenant, "id": id})
	f.Versions, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (v appraisal.FormVersion, err error) {
		return v, row.Scan(&v.ID, &v.FormID, &v.Number, &v.Content, &v.CreatedBy, &v.CreatedAt, &v.Cycles)
	})
	if err != nil {
		return f, fmt.Errorf("read versions of form %d: %w", id, err)
	}
	return f, nil
}

// addForm keeps a form under code, or under code-2, code-3… where that is taken.
func addForm(ctx context.Context, tx pgx.Tx, tenant int64, code string) (id int64, err error) {
	err = tx.QueryRow(ctx, `
		INSERT INTO forms (tenant_id, code)
		SELECT @tenant, candidate.code
		FROM (SELECT n, CASE WHEN n = 1 THEN @code::text ELSE @code || '-' || n END AS code
		      FROM generate_series(1, 1000) AS n) candidate
		WHERE NOT EXISTS (
			SELECT FROM forms taken
			WHERE taken.tenant_id = @tenant
			  AND taken.code = candidate.code)
		ORDER BY candidate.n
		LIMIT 1
		RETURNING id`,
		pgx.NamedArgs{"tenant": tenant, "code": code}).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fault.Conflictf("form.code_taken")
	}
	if err != nil {
		return 0, fmt.Errorf("add form %s: %w", code, err)
	}
	return id, nil
}

func addVersion(ctx context.Context, tx pgx.Tx, by policy.Actor, form int64, number int, content appraisal.FormContent) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO form_versions (tenant_id, form_id, number, content, created_by)
		VALUES (@tenant, @form, @number, @content, @by)`,
		pgx.NamedArgs{"tenant": by.TenantID, "form": form, "number": number, "content": content, "by": by.PersonID})
	if err != nil {
		return fmt.Errorf("add version %d of form %d: %w", number, form, err)
	}
	return audit(ctx, tx, by, "form.version_saved", "form", form, map[string]any{"number": number})
}

// formCode makes a code of a title: "Competências e Metas" → competencias-e-metas.
func formCode(title string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToLower(title)) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r):
		default:
			b.WriteByte('-')
		}
	}
	words := strings.FieldsFunc(b.String(), func(r rune) bool { return r == '-' })
	code := strings.Join(words, "-")
	if len(code) > 50 {
		code = strings.TrimRight(code[:50], "-")
	}
	if code == "" {
		return "formulario"
	}
	return code
}
