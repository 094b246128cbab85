-- Files that wait for a person's confirmation. Nothing of them is stored
-- anywhere else before that; a day later they are gone.
BEGIN;
CREATE TABLE imports (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id    bigint NOT NULL REFERENCES tenants (id),
    kind         text NOT NULL CONSTRAINT imports_kind_is_known CHECK (kind IN ('people', 'pairs')),
    cycle_id     bigint,
    uploaded_by  bigint NOT NULL,
    file_name    text NOT NULL CONSTRAINT imports_file_name_is_short CHECK (length(file_name) <= 255),
    encoding     text NOT NULL,
    separator    text NOT NULL,
    headers      jsonb NOT NULL,
    mapping      jsonb,
    date_order   text NOT NULL DEFAULT '',
    mode         text NOT NULL DEFAULT 'merge' CONSTRAINT imports_mode_is_known CHECK (mode IN ('merge', 'replace')),
    state        text NOT NULL DEFAULT 'uploaded' CONSTRAINT imports_state_is_known CHECK (state IN ('uploaded', 'compared', 'confirmed')),
    lines        int NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL DEFAULT now() + interval '24 hours',
    confirmed_at timestamptz,
    CONSTRAINT imports_tenant_key UNIQUE (tenant_id, id),
    CONSTRAINT imports_cycle_fk FOREIGN KEY (tenant_id, cycle_id) REFERENCES cycles (tenant_id, id),
    CONSTRAINT imports_uploader_fk FOREIGN KEY (tenant_id, uploaded_by) REFERENCES people (tenant_id, id),
    CONSTRAINT imports_pairs_have_a_cycle CHECK ((kind = 'pairs') = (cycle_id IS NOT NULL)),
    CONSTRAINT imports_confirmed_has_a_time CHECK ((state = 'confirmed') = (confirmed_at IS NOT NULL))
);
CREATE INDEX imports_expiry_idx ON imports (expires_at);

CREATE TABLE import_lines (
    tenant_id bigint NOT NULL REFERENCES tenants (id),
    import_id bigint NOT NULL,
    line      int NOT NULL,
    cells     jsonb NOT NULL,
    -- filled by the comparison: what would happen to the line, and why
    verdict   text CONSTRAINT import_lines_verdict_is_known CHECK (verdict IN ('create', 'update', 'unchanged', 'reject', 'remove')),
    title     text NOT NULL DEFAULT '',
    row       jsonb,
    changes   jsonb,
    problems  jsonb,
    notes     text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, import_id, line),
    CONSTRAINT import_lines_import_fk FOREIGN KEY (tenant_id, import_id) REFERENCES imports (tenant_id, id) ON DELETE CASCADE
);
COMMIT;
