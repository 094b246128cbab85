-- Messages of the later kinds cannot be kept: nothing before knows how to send them.
BEGIN;
DELETE FROM outbox_events WHERE event_type <> 'evaluation.assigned';
ALTER TABLE outbox_events
    DROP CONSTRAINT outbox_events_type_is_known,
    DROP CONSTRAINT outbox_events_assigned_names_its_reviewer,
    DROP CONSTRAINT outbox_events_names_its_person,
    DROP CONSTRAINT outbox_events_names_its_cycle,
    DROP CONSTRAINT outbox_events_pending_has_an_attempt_left,
    DROP COLUMN person_id,
    DROP COLUMN cycle_id;
DROP INDEX outbox_events_once_for_each_reason;
DROP INDEX outbox_events_one_reminder_a_rule;
ALTER TABLE outbox_events
    ADD COLUMN reviewer_id bigint GENERATED ALWAYS AS (
        CASE WHEN event_type = 'evaluation.assigned' AND payload ->> 'reviewer_id' ~ '^[1-9][0-9]{0,17}$'
             THEN (payload ->> 'reviewer_id')::bigint END) STORED,
    ADD COLUMN cycle_id bigint GENERATED ALWAYS AS (CASE WHEN event_type = 'evaluation.assigned' THEN aggregate_id END) STORED,
    ADD CONSTRAINT outbox_events_type_is_known CHECK (event_type IN ('evaluation.assigned')),
    ADD CONSTRAINT outbox_events_assigned_names_its_reviewer
        CHECK (event_type <> 'evaluation.assigned' OR coalesce(payload ->> 'reviewer_id' ~ '^[1-9][0-9]{0,17}$', false)),
    ADD CONSTRAINT outbox_events_reviewer_fk FOREIGN KEY (tenant_id, reviewer_id) REFERENCES people (tenant_id, id),
    ADD CONSTRAINT outbox_events_cycle_fk FOREIGN KEY (tenant_id, cycle_id) REFERENCES cycles (tenant_id, id);
CREATE INDEX outbox_events_failed_idx ON outbox_events (tenant_id, cycle_id, id) WHERE status = 'failed';
CREATE INDEX outbox_events_cycle_idx ON outbox_events (tenant_id, cycle_id, id);
COMMIT;
