-- Forms and their versions. A version is what reviewers answered, so it never
-- changes: a correction is a new version.
BEGIN;
CREATE TABLE forms (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id  bigint NOT NULL REFERENCES tenants (id),
    code       text NOT NULL CONSTRAINT forms_code_is_readable CHECK (code ~ '^[a-z0-9][a-z0-9-]{0,63}$'),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT forms_tenant_key UNIQUE (tenant_id, id),
    CONSTRAINT forms_code_key UNIQUE (tenant_id, code)
);
CREATE TABLE form_versions (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id  bigint NOT NULL REFERENCES tenants (id),
    form_id    bigint NOT NULL,
    number     int NOT NULL CONSTRAINT form_versions_number_counts_from_one CHECK (number >= 1),
    content    jsonb NOT NULL CONSTRAINT form_versions_content_is_an_object CHECK (jsonb_typeof(content) = 'object'),
    created_by bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT form_versions_tenant_key UNIQUE (tenant_id, id),
    CONSTRAINT form_versions_number_key UNIQUE (tenant_id, form_id, number),
    CONSTRAINT form_versions_form_fk FOREIGN KEY (tenant_id, form_id) REFERENCES forms (tenant_id, id),
    CONSTRAINT form_versions_author_fk FOREIGN KEY (tenant_id, created_by) REFERENCES people (tenant_id, id)
);
CREATE TRIGGER form_versions_never_change BEFORE UPDATE OR DELETE ON form_versions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
COMMIT;
