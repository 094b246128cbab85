-- A reviewer may have longer than the cycle. deadline_of is the one place that
-- decides what a reviewer's deadline is; every check and every page asks it. What
-- reviewers ask for stands in extension_requests until HR has answered.
BEGIN;
CREATE TABLE deadline_extensions (
    tenant_id        bigint NOT NULL REFERENCES tenants (id),
    cycle_id         bigint NOT NULL,
    person_id        bigint NOT NULL,
    until            timestamptz NOT NULL,
    roster_change_id bigint NOT NULL,
    PRIMARY KEY (tenant_id, cycle_id, person_id),
    CONSTRAINT deadline_extensions_cycle_fk FOREIGN KEY (tenant_id, cycle_id) REFERENCES cycles (tenant_id, id),
    CONSTRAINT deadline_extensions_person_fk FOREIGN KEY (tenant_id, person_id) REFERENCES people (tenant_id, id),
    CONSTRAINT deadline_extensions_change_fk FOREIGN KEY (tenant_id, roster_change_id) REFERENCES roster_changes (tenant_id, id)
);

-- The later of the cycle's deadline and the reviewer's own. Reviewer 0 is nobody: the cycle's.
CREATE FUNCTION deadline_of(tenant bigint, cycle bigint, reviewer bigint) RETURNS timestamptz
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT greatest(c.due_at, x.until)
    FROM cycles c
    LEFT JOIN deadline_extensions x ON x.tenant_id = c.tenant_id AND x.cycle_id = c.id AND x.person_id = reviewer
    WHERE c.tenant_id = tenant
      AND c.id = cycle
$$;

CREATE TABLE extension_requests (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   bigint NOT NULL REFERENCES tenants (id),
    cycle_id    bigint NOT NULL,
    person_id   bigint NOT NULL,
    note        text NOT NULL CONSTRAINT extension_requests_note_is_short CHECK (length(note) BETWEEN 1 AND 500),
    asked_at    timestamptz NOT NULL DEFAULT now(),
    answered_at timestamptz,
    answered_by bigint,
    granted     boolean,
    until       timestamptz,
    answer      text NOT NULL DEFAULT '' CONSTRAINT extension_requests_answer_is_short CHECK (length(answer) <= 500),
    CONSTRAINT extension_requests_tenant_key UNIQUE (tenant_id, id),
    CONSTRAINT extension_requests_cycle_fk FOREIGN KEY (tenant_id, cycle_id) REFERENCES cycles (tenant_id, id),
    CONSTRAINT extension_requests_person_fk FOREIGN KEY (tenant_id, person_id) REFERENCES people (tenant_id, id),
    CONSTRAINT extension_requests_answerer_fk FOREIGN KEY (tenant_id, answered_by) REFERENCES people (tenant_id, id),
    CONSTRAINT extension_requests_answer_is_whole
        CHECK ((answered_at IS NULL) = (granted IS NULL) AND (answered_at IS NULL) = (answered_by IS NULL)),
    CONSTRAINT extension_requests_granted_has_a_time CHECK ((granted IS TRUE) = (until IS NOT NULL))
);
CREATE UNIQUE INDEX extension_requests_one_is_open ON extension_requests (tenant_id, cycle_id, person_id) WHERE answered_at IS NULL;
CREATE INDEX extension_requests_cycle_idx ON extension_requests (tenant_id, cycle_id, id);
COMMIT;
