-- Further kinds of message. person_id takes the place of reviewer_id: every kind
-- is for one person, who need not be a reviewer.
BEGIN;
ALTER TABLE outbox_events
    DROP CONSTRAINT outbox_events_type_is_known,
    DROP CONSTRAINT outbox_events_assigned_names_its_reviewer,
    DROP COLUMN reviewer_id,
    DROP COLUMN cycle_id;
-- by regular expression and not by cast, so that a bad value meets the named checks below
ALTER TABLE outbox_events
    ADD COLUMN person_id bigint GENERATED ALWAYS AS (
        CASE WHEN coalesce(payload ->> 'reviewer_id', payload ->> 'person_id') ~ '^[1-9][0-9]{0,17}$'
             THEN coalesce(payload ->> 'reviewer_id', payload ->> 'person_id')::bigint END) STORED,
    ADD COLUMN cycle_id bigint GENERATED ALWAYS AS (
        CASE WHEN event_type IN ('evaluation.assigned', 'evaluation.reminder', 'cycle.cancelled', 'link.again') THEN aggregate_id
             WHEN payload ->> 'cycle_id' ~ '^[1-9][0-9]{0,17}$' THEN (payload ->> 'cycle_id')::bigint END) STORED,
    ADD CONSTRAINT outbox_events_type_is_known CHECK (event_type IN (
        'evaluation.assigned', 'evaluation.reminder', 'evaluation.extended', 'evaluation.reassigned', 'evaluation.withdrawn', 'evaluation.received',
        'cycle.cancelled', 'link.again', 'person.invited', 'password.reset', 'address.changed', 'messages.failed', 'sending.stopped',
        'extension.asked', 'extension.answered')),
    ADD CONSTRAINT outbox_events_assigned_names_its_reviewer
        CHECK (event_type <> 'evaluation.assigned' OR coalesce(payload ->> 'reviewer_id' ~ '^[1-9][0-9]{0,17}$', false)),
    ADD CONSTRAINT outbox_events_names_its_person CHECK (person_id IS NOT NULL),
    ADD CONSTRAINT outbox_events_names_its_cycle
        CHECK (cycle_id IS NOT NULL OR event_type NOT LIKE 'evaluation.%' AND event_type NOT LIKE 'extension.%'),
    -- a claim takes one attempt, so that a waiting row must have one left
    ADD CONSTRAINT outbox_events_pending_has_an_attempt_left CHECK (status <> 'pending' OR attempts < max_attempts),
    ADD CONSTRAINT outbox_events_person_fk FOREIGN KEY (tenant_id, person_id) REFERENCES people (tenant_id, id),
    ADD CONSTRAINT outbox_events_cycle_fk FOREIGN KEY (tenant_id, cycle_id) REFERENCES cycles (tenant_id, id);
CREATE INDEX outbox_events_failed_idx ON outbox_events (tenant_id, cycle_id, id) WHERE status = 'failed';
CREATE INDEX outbox_events_cycle_idx ON outbox_events (tenant_id, cycle_id, id);
-- what happens to a reviewer once: for each change of the roster, each review sent in, each cancelled cycle
CREATE UNIQUE INDEX outbox_events_once_for_each_reason
    ON outbox_events (tenant_id, event_type, aggregate_id, (payload ->> 'reviewer_id'))
    WHERE event_type IN ('evaluation.extended', 'evaluation.reassigned', 'evaluation.withdrawn', 'evaluation.received', 'cycle.cancelled');
-- a reminder by rule comes once for each deadline (as epoch); one sent by hand names no rule
CREATE UNIQUE INDEX outbox_events_one_reminder_a_rule
    ON outbox_events (tenant_id, aggregate_id, (payload ->> 'reviewer_id'), (payload ->> 'rule'), (payload ->> 'deadline'))
    WHERE event_type = 'evaluation.reminder' AND payload ? 'rule';
COMMIT;
