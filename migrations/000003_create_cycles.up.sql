-- Cycles, who takes part, and every evaluation. The checks tie each state to
-- its timestamps, and the triggers keep the roster as it was at activation,
-- whatever the code does.
BEGIN;

CREATE TABLE cycles (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id       bigint NOT NULL REFERENCES tenants (id),
    name            text NOT NULL CONSTRAINT cycles_name_is_readable CHECK (name = btrim(name) AND length(name) BETWEEN 1 AND 120),
    state           text NOT NULL DEFAULT 'draft' CONSTRAINT cycles_state_is_known CHECK (state IN ('draft', 'active', 'closed', 'cancelled')),
    form_version_id bigint NOT NULL,
    due_at          timestamptz NOT NULL,
    due_zone        text NOT NULL DEFAULT 'America/Sao_Paulo',
    grace_minutes   int NOT NULL DEFAULT 15 CONSTRAINT cycles_grace_is_under_a_day CHECK (grace_minutes BETWEEN 0 AND 1440),
    contact_email   citext,
    rule            jsonb NOT NULL DEFAULT '{}' CONSTRAINT cycles_rule_is_an_object CHECK (jsonb_typeof(rule) = 'object'),
    owner_id        bigint NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    activated_at    timestamptz,
    activated_by    bigint,
    closed_at       timestamptz,
    closed_by       bigint,
    cancelled_at    timestamptz,
    cancelled_by    bigint,
    cancel_reason   text,
    CONSTRAINT cycles_tenant_key UNIQUE (tenant_id, id),
    CONSTRAINT cycles_name_key UNIQUE (tenant_id, name),
    CONSTRAINT cycles_form_fk FOREIGN KEY (tenant_id, form_version_id) REFERENCES form_versions (tenant_id, id),
    CONSTRAINT cycles_owner_fk FOREIGN KEY (tenant_id, owner_id) REFERENCES people (tenant_id, id),
    CONSTRAINT cycles_activator_fk FOREIGN KEY (tenant_id, activated_by) REFERENCES people (tenant_id, id),
    CONSTRAINT cycles_closer_fk FOREIGN KEY (tenant_id, closed_by) REFERENCES people (tenant_id, id),
    CONSTRAINT cycles_canceller_fk FOREIGN KEY (tenant_id, cancelled_by) REFERENCES people (tenant_id, id),
    CONSTRAINT cycles_draft_was_never_activated CHECK (state <> 'draft' OR activated_at IS NULL AND closed_at IS NULL AND cancelled_at IS NULL),
    CONSTRAINT cycles_active_has_a_time CHECK (state NOT IN ('active', 'closed') OR activated_at IS NOT NULL),
    CONSTRAINT cycles_activation_has_an_author CHECK ((activated_at IS NULL) = (activated_by IS NULL)),
    CONSTRAINT cycles_closed_has_a_time CHECK ((state = 'closed') = (closed_at IS NOT NULL)),
    CONSTRAINT cycles_cancelled_has_a_time_and_a_reason CHECK ((state = 'cancelled') = (cancelled_at IS NOT NULL AND cancel_reason IS NOT NULL))
);
ALTER TABLE sessions ADD CONSTRAINT sessions_cycle_fk FOREIGN KEY (tenant_id, cycle_id) REFERENCES cycles (tenant_id, id);

-- The record of an activation: what was counted, moved and written, as one row.
CREATE TABLE activations (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   bigint NOT NULL REFERENCES tenants (id),
    cycle_id    bigint NOT NULL,
    number      bigint NOT NULL,
    actor_id    bigint NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    pairs       int NOT NULL,
    evaluations int NOT NULL,
    reviewers   int NOT NULL,
    events      int NOT NULL,
    mails       int NOT NULL,
    handouts    int NOT NULL,
    CONSTRAINT activations_number_key UNIQUE (tenant_id, number),
    CONSTRAINT activations_counts_agree CHECK (pairs = evaluations AND reviewers = events AND events = mails + handouts),
    CONSTRAINT activations_cycle_fk FOREIGN KEY (tenant_id, cycle_id) REFERENCES cycles (tenant_id, id),
    CONSTRAINT activations_actor_fk FOREIGN KEY (tenant_id, actor_id) REFERENCES people (tenant_id, id)
);
CREATE INDEX activations_cycle_idx ON activations (tenant_id, cycle_id, id);

-- A named change to the roster of a running cycle. It lets roster rows through
-- the lock only within the transaction that created it.
CREATE TABLE roster_changes (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id  bigint NOT NULL REFERENCES tenants (id),
    cycle_id   bigint NOT NULL,
    kind       text NOT NULL CONSTRAINT roster_changes_kind_is_known CHECK (kind IN ('late_joiner', 'reassign', 'extend', 'cancel')),
    reason     text NOT NULL DEFAULT '',
    actor_id   bigint NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    created_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
    CONSTRAINT roster_changes_tenant_key UNIQUE (tenant_id, id),
    CONSTRAINT roster_changes_cycle_fk FOREIGN KEY (tenant_id, cycle_id) REFERENCES cycles (tenant_id, id),
    CONSTRAINT roster_changes_actor_fk FOREIGN KEY (tenant_id, actor_id) REFERENCES people (tenant_id, id)
);

-- A reviewee of a cycle: in, with the way they came in, or left out with the reason.
CREATE TABLE participants (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id        bigint NOT NULL REFERENCES tenants (id),
    cycle_id         bigint NOT NULL,
    person_id        bigint NOT NULL,
    source           text NOT NULL CONSTRAINT participants_source_is_known CHECK (source IN ('rule', 'file', 'page')),
    excluded_at      timestamptz,
    excluded_by      bigint,
    exclusion_reason text CONSTRAINT participants_exclusion_reason_is_short CHECK (length(exclusion_reason) BETWEEN 1 AND 500),
    created_at       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT participants_key UNIQUE (tenant_id, cycle_id, person_id),
    CONSTRAINT participants_cycle_fk FOREIGN KEY (tenant_id, cycle_id) REFERENCES cycles (tenant_id, id),
    CONSTRAINT participants_person_fk FOREIGN KEY (tenant_id, person_id) REFERENCES people (tenant_id, id),
    CONSTRAINT participants_excluder_fk FOREIGN KEY (tenant_id, excluded_by) REFERENCES people (tenant_id, id),
    CONSTRAINT participants_excluded_says_why CHECK ((excluded_at IS NULL) = (exclusion_reason IS NULL))
);
CREATE INDEX participants_person_idx ON participants (tenant_id, person_id);

CREATE TABLE evaluations (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id        bigint NOT NULL REFERENCES tenants (id),
    cycle_id         bigint NOT NULL,
    reviewee_id      bigint NOT NULL,
    reviewer_id      bigint NOT NULL,
    kind             text NOT NULL CONSTRAINT evaluations_kind_is_known CHECK (kind IN ('self', 'manager', 'peer', 'report')),
    source           text NOT NULL CONSTRAINT evaluations_source_is_known CHECK (source IN ('rule', 'file', 'page')),
    state            text NOT NULL DEFAULT 'planned' CONSTRAINT evaluations_state_is_known
                     CHECK (state IN ('planned', 'pending', 'in_progress', 'submitted', 'reopened', 'declined', 'expired', 'cancelled')),
    state_reason     text,
    started_at       timestamptz,
    submitted_at     timestamptz,
    submitted_via    text CONSTRAINT evaluations_channel_is_known CHECK (submitted_via IN ('session', 'link', 'slip')),
    roster_change_id bigint,
    created_at       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT evaluations_tenant_key UNIQUE (tenant_id, id),
    CONSTRAINT evaluations_pair_key UNIQUE (tenant_id, cycle_id, reviewee_id, reviewer_id, kind),
    CONSTRAINT evaluations_reviewee_is_a_participant FOREIGN KEY (tenant_id, cycle_id, reviewee_id) REFERENCES participants (tenant_id, cycle_id, person_id),
    CONSTRAINT evaluations_reviewer_fk FOREIGN KEY (tenant_id, reviewer_id) REFERENCES people (tenant_id, id),
    CONSTRAINT evaluations_change_fk FOREIGN KEY (tenant_id, roster_change_id) REFERENCES roster_changes (tenant_id, id),
    CONSTRAINT evaluations_self_is_oneself CHECK ((kind = 'self') = (reviewee_id = reviewer_id)),
    CONSTRAINT evaluations_submitted_has_a_time CHECK (state <> 'submitted' OR submitted_at IS NOT NULL AND submitted_via IS NOT NULL),
    CONSTRAINT evaluations_in_progress_has_a_start CHECK (state <> 'in_progress' OR started_at IS NOT NULL)
) WITH (
    -- activation updates every row of a cycle at once: half a page is left free, so that the new versions stay beside
    -- the old ones and no index is touched. The table is no larger for it, as each row is written twice anyway.
    fillfactor = 50
);
-- Only the pair's key begins with the cycle: right after an import there are no
-- statistics yet, and a planner that has a second index to choose from reads the
-- whole cycle through it for every row it looks up.
CREATE INDEX evaluations_reviewer_idx ON evaluations (tenant_id, reviewer_id, cycle_id);

-- The text of an evaluation. version counts saves, so that a stale tab is told
-- and nothing is overwritten.
CREATE TABLE answers (
    evaluation_id bigint PRIMARY KEY,
    tenant_id     bigint NOT NULL REFERENCES tenants (id),
    content       jsonb NOT NULL DEFAULT '{}' CONSTRAINT answers_content_is_an_object CHECK (jsonb_typeof(content) = 'object'),
    version       int NOT NULL DEFAULT 1 CONSTRAINT answers_version_counts_from_one CHECK (version >= 1),
    saved_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT answers_evaluation_fk FOREIGN KEY (tenant_id, evaluation_id) REFERENCES evaluations (tenant_id, id)
);

-- A review link: the token is derived from kid, nonce and these ids, and kept nowhere.
CREATE TABLE review_links (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id  bigint NOT NULL REFERENCES tenants (id),
    cycle_id   bigint NOT NULL,
    person_id  bigint NOT NULL,
    kid        text NOT NULL,
    nonce      bytea NOT NULL CONSTRAINT review_links_nonce_is_16_bytes CHECK (length(nonce) = 16),
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    opened_at  timestamptz,
    CONSTRAINT review_links_cycle_fk FOREIGN KEY (tenant_id, cycle_id) REFERENCES cycles (tenant_id, id),
    CONSTRAINT review_links_person_fk FOREIGN KEY (tenant_id, person_id) REFERENCES people (tenant_id, id)
);
CREATE UNIQUE INDEX review_links_one_is_live ON review_links (tenant_id, cycle_id, person_id) WHERE revoked_at IS NULL;

-- roster_is_locked refuses one cycle's roster outside draft. FOR SHARE makes it
-- wait for an activation that has not committed yet, and read its outcome; the
-- state is looked at after the lock, never in the WHERE, or the row would be
-- skipped unlocked.
CREATE FUNCTION roster_must_be_open(tenant bigint, cycle bigint, change bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    current_state text;
BEGIN
    SELECT state INTO current_state FROM cycles WHERE tenant_id = tenant AND id = cycle FOR SHARE;
    IF current_state = 'draft' THEN
        RETURN;
    END IF;
    IF change IS NOT NULL AND EXISTS (
        SELECT FROM roster_changes c
        WHERE c.tenant_id = tenant AND c.id = change AND c.cycle_id = cycle AND c.created_in = pg_current_xact_id()
    ) THEN
        RETURN;
    END IF;
    RAISE EXCEPTION 'the roster of cycle % is locked: it is %', cycle, current_state
        USING ERRCODE = 'restrict_violation', CONSTRAINT = 'roster_is_locked';
END $$;

CREATE FUNCTION lock_roster_of_statement() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched record;
BEGIN
    FOR touched IN SELECT DISTINCT tenant_id, cycle_id, roster_change_id FROM touched_rows ORDER BY tenant_id, cycle_id LOOP
        PERFORM roster_must_be_open(touched.tenant_id, touched.cycle_id, touched.roster_change_id);
    END LOOP;
    RETURN NULL;
END $$;

-- PostgreSQL allows no transition tables on UPDATE OF columns, hence by row.
CREATE FUNCTION lock_roster_of_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM roster_must_be_open(OLD.tenant_id, OLD.cycle_id, NEW.roster_change_id);
    IF (NEW.tenant_id, NEW.cycle_id) IS DISTINCT FROM (OLD.tenant_id, OLD.cycle_id) THEN
        PERFORM roster_must_be_open(NEW.tenant_id, NEW.cycle_id, NEW.roster_change_id);
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER evaluations_roster_is_locked_on_insert AFTER INSERT ON evaluations
    REFERENCING NEW TABLE AS touched_rows FOR EACH STATEMENT EXECUTE FUNCTION lock_roster_of_statement();
CREATE TRIGGER evaluations_roster_is_locked_on_delete AFTER DELETE ON evaluations
    REFERENCING OLD TABLE AS touched_rows FOR EACH STATEMENT EXECUTE FUNCTION lock_roster_of_statement();
CREATE TRIGGER evaluations_roster_is_locked_on_update
    BEFORE UPDATE OF tenant_id, cycle_id, reviewee_id, reviewer_id, kind ON evaluations
    FOR EACH ROW EXECUTE FUNCTION lock_roster_of_row();

COMMIT;
