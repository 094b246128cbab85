-- Sending under control: a person stops an organisation's queue and says why, an
-- activation can be held and undone, and workers say that they are alive.
BEGIN;
CREATE TABLE queue_pauses (
    tenant_id bigint NOT NULL REFERENCES tenants (id),
    queue     text NOT NULL CONSTRAINT queue_pauses_queue_can_be_paused CHECK (queue IN ('mail', 'mail_now')),
    paused_by bigint NOT NULL,
    reason    text NOT NULL CONSTRAINT queue_pauses_reason_is_short CHECK (length(reason) BETWEEN 1 AND 500),
    paused_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, queue),
    CONSTRAINT queue_pauses_person_fk FOREIGN KEY (tenant_id, paused_by) REFERENCES people (tenant_id, id)
);

-- One row for each queue that a process works. It belongs to no organisation.
CREATE TABLE worker_heartbeats (
    process    text NOT NULL,
    queue      text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    beat_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process, queue)
);

ALTER TABLE tenants
    ADD COLUMN hold_minutes int NOT NULL DEFAULT 0
        CONSTRAINT tenants_hold_is_under_a_day CHECK (hold_minutes BETWEEN 0 AND 1440);

-- what an activation that was undone did stays on record
ALTER TABLE activations
    ADD COLUMN held_until timestamptz,
    ADD COLUMN undone_at timestamptz,
    ADD COLUMN undone_by bigint,
    ADD CONSTRAINT activations_undoer_fk FOREIGN KEY (tenant_id, undone_by) REFERENCES people (tenant_id, id),
    ADD CONSTRAINT activations_undone_has_an_author CHECK ((undone_at IS NULL) = (undone_by IS NULL));
-- a person's links, the revoked ones too: the newest to a cycle, and all when an address changes
CREATE INDEX review_links_person_idx ON review_links (tenant_id, person_id, cycle_id, id);
COMMIT;
