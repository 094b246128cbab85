-- The outbox: one row for each message a committed change owes, from the moment
-- it is owed until it is delivered or a person has dealt with it.
--
-- available_at is the one clock of a row: when it becomes due and, while it is
-- processing, when its lease ends. attempts only ever grows and fences every
-- settle. A duplicate is impossible by index, whatever the caller does.
BEGIN;

CREATE TABLE outbox_events (
    id               bigint GENERATED ALWAYS AS IDENTITY,
    tenant_id        bigint NOT NULL REFERENCES tenants (id),
    queue            text NOT NULL CONSTRAINT outbox_events_queue_is_known CHECK (queue IN ('mail', 'mail_now', 'mail_alone', 'handout')),
    event_type       text NOT NULL CONSTRAINT outbox_events_type_is_known CHECK (event_type IN ('evaluation.assigned')),
    aggregate_id     bigint NOT NULL,
    payload          jsonb NOT NULL CONSTRAINT outbox_events_payload_is_an_object CHECK (jsonb_typeof(payload) = 'object'),
    traceparent      text,
    status           text NOT NULL DEFAULT 'pending' CONSTRAINT outbox_events_status_is_known
                     CHECK (status IN ('pending', 'processing', 'delivered', 'failed', 'cancelled')),
    attempts         int NOT NULL DEFAULT 0,
    max_attempts     int NOT NULL DEFAULT 5,
    available_at     timestamptz NOT NULL DEFAULT now(),
    last_error       text CONSTRAINT outbox_events_last_error_is_short CHECK (length(last_error) <= 2000),
    cause            text,
    status_reason    text CONSTRAINT outbox_events_status_reason_is_short CHECK (length(status_reason) <= 500),
    cancel_requested boolean NOT NULL DEFAULT false,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    delivered_at     timestamptz,
    -- by regular expression and not by cast, so that a bad value meets the named check below
    reviewer_id      bigint GENERATED ALWAYS AS (
                         CASE WHEN event_type = 'evaluation.assigned' AND payload ->> 'reviewer_id' ~ '^[1-9][0-9]{0,17}$'
                              THEN (payload ->> 'reviewer_id')::bigint END) STORED,
    cycle_id         bigint GENERATED ALWAYS AS (CASE WHEN event_type = 'evaluation.assigned' THEN aggregate_id END) STORED,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT outbox_events_reviewer_fk FOREIGN KEY (tenant_id, reviewer_id) REFERENCES people (tenant_id, id),
    CONSTRAINT outbox_events_cycle_fk FOREIGN KEY (tenant_id, cycle_id) REFERENCES cycles (tenant_id, id),
    CONSTRAINT outbox_events_assigned_names_its_reviewer
        CHECK (event_type <> 'evaluation.assigned' OR coalesce(payload ->> 'reviewer_id' ~ '^[1-9][0-9]{0,17}$', false)),
    CONSTRAINT outbox_events_attempts_stay_within_their_maximum CHECK (attempts BETWEEN 0 AND max_attempts),
    CONSTRAINT outbox_events_processing_was_claimed CHECK (status <> 'processing' OR attempts >= 1),
    CONSTRAINT outbox_events_delivered_has_a_time CHECK ((status = 'delivered') = (delivered_at IS NOT NULL)),
    CONSTRAINT outbox_events_failed_says_why CHECK (status <> 'failed' OR last_error IS NOT NULL)
) WITH (
    -- by threshold, not by share: a drain leaves the same litter in a small and in a large table
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000
);

CREATE UNIQUE INDEX outbox_events_one_invitation_a_reviewer
    ON outbox_events (tenant_id, event_type, aggregate_id, (payload ->> 'reviewer_id'))
    WHERE event_type = 'evaluation.assigned';

-- exactly the columns the claim filters and orders on
CREATE INDEX outbox_events_claim_idx ON outbox_events (queue, tenant_id, status, available_at, id)
    WHERE status IN ('pending', 'processing');
CREATE INDEX outbox_events_lease_idx ON outbox_events (available_at) WHERE status = 'processing';
CREATE INDEX outbox_events_failed_idx ON outbox_events (tenant_id, cycle_id, id) WHERE status = 'failed';
CREATE INDEX outbox_events_cycle_idx ON outbox_events (tenant_id, cycle_id, id);

-- One row for each attempt that did not deliver.
CREATE TABLE delivery_attempts (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id bigint NOT NULL REFERENCES tenants (id),
    event_id  bigint NOT NULL,
    attempt   int NOT NULL CONSTRAINT delivery_attempts_count_from_one CHECK (attempt >= 1),
    at        timestamptz NOT NULL DEFAULT now(),
    class     text NOT NULL CONSTRAINT delivery_attempts_class_is_known
              CHECK (class IN ('temporary', 'permanent', 'unavailable', 'sender_refused', 'unknown', 'lost')),
    cause     text NOT NULL,
    phase     text NOT NULL DEFAULT '',
    address   citext,
    error     text NOT NULL CONSTRAINT delivery_attempts_error_is_short CHECK (length(error) <= 2000),
    took_ms   int NOT NULL DEFAULT 0,
    CONSTRAINT delivery_attempts_key UNIQUE (tenant_id, event_id, attempt),
    CONSTRAINT delivery_attempts_event_fk FOREIGN KEY (tenant_id, event_id) REFERENCES outbox_events (tenant_id, id) ON DELETE CASCADE
);

COMMIT;
