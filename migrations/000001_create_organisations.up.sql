-- Organisations, their people, and what lets a person in. Every table that
-- belongs to an organisation names it, and references between such tables are
-- composite, so that no row can point into another organisation.
BEGIN;

CREATE EXTENSION IF NOT EXISTS citext;

-- fold makes text comparable as people search it: lower case, without accents.
CREATE FUNCTION fold(text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
    RETURN translate(
        lower($1),
        'áàâãäåéèêëíìîïóòôõöúùûüçñýÿ''’`´',
        'aaaaaaeeeeiiiiooooouuuucnyy'
    );

-- The demo marks its database; serve refuses a marked one, the demo any other.
CREATE TABLE installation (
    only_row   boolean PRIMARY KEY DEFAULT true CONSTRAINT installation_has_one_row CHECK (only_row),
    demo       boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO installation DEFAULT VALUES;

CREATE TABLE tenants (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name             text NOT NULL CONSTRAINT tenants_name_is_readable CHECK (name = btrim(name) AND length(name) BETWEEN 1 AND 200),
    locale           text NOT NULL DEFAULT 'pt-BR' CONSTRAINT tenants_locale_is_known CHECK (locale IN ('pt-BR', 'en')),
    zone             text NOT NULL DEFAULT 'America/Sao_Paulo',
    -- where replies to the organisation's messages go when a cycle names no contact
    contact_email    citext,
    -- counts activations, so that their records carry a number of the organisation's own
    activations      bigint NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT tenants_name_key UNIQUE (name)
);

CREATE TABLE people (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id     bigint NOT NULL REFERENCES tenants (id),
    code          text NOT NULL CONSTRAINT people_code_is_readable CHECK (code = btrim(code) AND length(code) BETWEEN 1 AND 64),
    name          text NOT NULL CONSTRAINT people_name_is_readable CHECK (name = btrim(name) AND length(name) BETWEEN 1 AND 200),
    email         citext CONSTRAINT people_email_is_an_address CHECK (length(email) <= 254 AND email ~ '^[^@\s]+@[^@\s]+$'),
    department    text NOT NULL DEFAULT '',
    unit          text NOT NULL DEFAULT '',
    cost_centre   text NOT NULL DEFAULT '',
    title         text NOT NULL DEFAULT '',
    manager_id    bigint,
    hired_on      date,
    left_on       date,
    locale        text CONSTRAINT people_locale_is_known CHECK (locale IN ('pt-BR', 'en')),
    attributes    jsonb NOT NULL DEFAULT '{}' CONSTRAINT people_attributes_are_an_object CHECK (jsonb_typeof(attributes) = 'object'),
    password_hash text,
    search        text GENERATED ALWAYS AS (fold(name || ' ' || coalesce(email::text, '') || ' ' || code)) STORED,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT people_tenant_key UNIQUE (tenant_id, id),
    CONSTRAINT people_code_key UNIQUE (tenant_id, code),
    CONSTRAINT people_email_key UNIQUE (tenant_id, email),
    CONSTRAINT people_manager_is_of_the_same_organisation FOREIGN KEY (tenant_id, manager_id) REFERENCES people (tenant_id, id),
    CONSTRAINT people_nobody_manages_themself CHECK (manager_id <> id),
    CONSTRAINT people_leave_after_they_come CHECK (left_on >= hired_on)
);
CREATE INDEX people_manager_idx ON people (tenant_id, manager_id);
CREATE INDEX people_by_name_idx ON people (tenant_id, name COLLATE "pt-BR-x-icu", id);
CREATE INDEX people_sign_in_idx ON people (email);

CREATE TABLE grants (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id  bigint NOT NULL REFERENCES tenants (id),
    person_id  bigint NOT NULL,
    role       text NOT NULL CONSTRAINT grants_role_is_known CHECK (role IN ('admin', 'hr_manager')),
    scope      text NOT NULL DEFAULT 'organisation' CONSTRAINT grants_scope_is_known CHECK (scope IN ('organisation', 'unit', 'department', 'own_team')),
    scope_value text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT grants_key UNIQUE (tenant_id, person_id, role, scope, scope_value),
    CONSTRAINT grants_person_fk FOREIGN KEY (tenant_id, person_id) REFERENCES people (tenant_id, id)
);

-- One row a browser. The cookie holds a random id, the table only its hash.
-- cycle_id is set for a session that a review link opened.
CREATE TABLE sessions (
    token_hash bytea PRIMARY KEY CONSTRAINT sessions_token_is_sha256 CHECK (length(token_hash) = 32),
    tenant_id  bigint REFERENCES tenants (id),
    person_id  bigint,
    cycle_id   bigint,
    data       bytea NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    CONSTRAINT sessions_person_fk FOREIGN KEY (tenant_id, person_id) REFERENCES people (tenant_id, id),
    CONSTRAINT sessions_person_has_an_organisation CHECK ((tenant_id IS NULL) = (person_id IS NULL)),
    CONSTRAINT sessions_cycle_has_a_person CHECK (cycle_id IS NULL OR person_id IS NOT NULL)
);
CREATE INDEX sessions_person_idx ON sessions (tenant_id, person_id);
CREATE INDEX sessions_expiry_idx ON sessions (expires_at);

-- Sign-in slows down per address, known or not; the address itself is hashed.
CREATE TABLE sign_in_attempts (
    address_hash  bytea PRIMARY KEY CONSTRAINT sign_in_attempts_address_is_sha256 CHECK (length(address_hash) = 32),
    failures      int NOT NULL DEFAULT 0,
    last_failed_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE one_time_links (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id  bigint NOT NULL REFERENCES tenants (id),
    person_id  bigint NOT NULL,
    purpose    text NOT NULL CONSTRAINT one_time_links_purpose_is_known CHECK (purpose IN ('password')),
    token_hash bytea NOT NULL CONSTRAINT one_time_links_token_is_sha256 CHECK (length(token_hash) = 32),
    expires_at timestamptz NOT NULL,
    used_at    timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT one_time_links_token_key UNIQUE (token_hash),
    CONSTRAINT one_time_links_person_fk FOREIGN KEY (tenant_id, person_id) REFERENCES people (tenant_id, id)
);

-- What was done, by whom, to what. Rows are added and never change.
CREATE TABLE audit_entries (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   bigint NOT NULL REFERENCES tenants (id),
    actor_id    bigint,
    act         text NOT NULL,
    object_type text NOT NULL,
    object_id   bigint NOT NULL,
    detail      jsonb NOT NULL DEFAULT '{}',
    at          timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT audit_entries_actor_fk FOREIGN KEY (tenant_id, actor_id) REFERENCES people (tenant_id, id)
);
CREATE INDEX audit_entries_object_idx ON audit_entries (tenant_id, object_type, object_id, id);

-- refuse_change keeps append-only and immutable tables as they were written.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% rows never change', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_TABLE_NAME || '_never_change';
END $$;
CREATE TRIGGER audit_entries_never_change BEFORE UPDATE OR DELETE ON audit_entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

COMMIT;
