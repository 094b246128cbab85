-- The rehearsal mends: who is on leave is known by dates, who stays in two
-- cycles on purpose is noted, the roster is kept as it was last rehearsed, and
-- whoever rehearses may send the message to themself.
BEGIN;
CREATE TABLE absences (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id  bigint NOT NULL REFERENCES tenants (id),
    person_id  bigint NOT NULL,
    starts_on  date NOT NULL,
    ends_on    date NOT NULL,
    kind       text NOT NULL CONSTRAINT absences_kind_is_known CHECK (kind IN ('vacation', 'parental', 'sick', 'other')),
    noted_by   bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT absences_tenant_key UNIQUE (tenant_id, id),
    CONSTRAINT absences_end_after_they_start CHECK (ends_on >= starts_on),
    CONSTRAINT absences_are_under_five_years CHECK (ends_on - starts_on < 1827),
    CONSTRAINT absences_person_fk FOREIGN KEY (tenant_id, person_id) REFERENCES people (tenant_id, id),
    CONSTRAINT absences_author_fk FOREIGN KEY (tenant_id, noted_by) REFERENCES people (tenant_id, id),
    -- nobody is away twice at once; a person's id as a range of one, so that no extension is needed
    CONSTRAINT absences_do_not_overlap EXCLUDE USING gist (int8range(person_id, person_id, '[]') WITH &&, daterange(starts_on, ends_on, '[]') WITH &&)
);
CREATE INDEX absences_person_idx ON absences (tenant_id, person_id, starts_on);

-- in another open cycle too, and meant to be: said by whom, and when
ALTER TABLE participants
    ADD COLUMN kept_at timestamptz,
    ADD COLUMN kept_by bigint,
    ADD CONSTRAINT participants_keeper_fk FOREIGN KEY (tenant_id, kept_by) REFERENCES people (tenant_id, id),
    ADD CONSTRAINT participants_kept_says_by_whom CHECK ((kept_at IS NULL) = (kept_by IS NULL));

-- the roster as somebody rehearsed it: three lists of one length, a pair at each place
CREATE TABLE rehearsals (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id  bigint NOT NULL REFERENCES tenants (id),
    cycle_id   bigint NOT NULL,
    actor_id   bigint NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    reviewees  bigint[] NOT NULL,
    reviewers  bigint[] NOT NULL,
    kinds      text[] NOT NULL,
    CONSTRAINT rehearsals_lists_have_one_length CHECK (cardinality(reviewees) = cardinality(reviewers) AND cardinality(reviewees) = cardinality(kinds)),
    CONSTRAINT rehearsals_cycle_fk FOREIGN KEY (tenant_id, cycle_id) REFERENCES cycles (tenant_id, id),
    CONSTRAINT rehearsals_actor_fk FOREIGN KEY (tenant_id, actor_id) REFERENCES people (tenant_id, id)
);
CREATE INDEX rehearsals_cycle_idx ON rehearsals (tenant_id, cycle_id, id);

ALTER TABLE outbox_events
    DROP CONSTRAINT outbox_events_type_is_known,
    ADD CONSTRAINT outbox_events_type_is_known CHECK (event_type IN (
        'evaluation.assigned', 'evaluation.reminder', 'evaluation.extended', 'evaluation.reassigned', 'evaluation.withdrawn', 'evaluation.received',
        'cycle.cancelled', 'link.again', 'person.invited', 'password.reset', 'address.changed', 'messages.failed', 'sending.stopped',
        'extension.asked', 'extension.answered', 'invitation.sample'));
COMMIT;
