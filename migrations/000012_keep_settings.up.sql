-- Settings of an organisation: where replies go, its working days and holidays;
-- the audit read by date, act and person; and one more kind of message.
BEGIN;

ALTER TABLE tenants
    ADD COLUMN reply_to citext
        CONSTRAINT tenants_reply_to_is_an_address CHECK (length(reply_to) <= 254 AND reply_to ~ '^[^@\s]+@[^@\s]+$'),
    -- as ISO numbers them: Monday is 1
    ADD COLUMN working_days smallint[] NOT NULL DEFAULT '{1,2,3,4,5}'
        CONSTRAINT tenants_working_days_are_days CHECK (working_days <@ '{1,2,3,4,5,6,7}' AND cardinality(working_days) BETWEEN 1 AND 7),
    ADD COLUMN national_holidays boolean NOT NULL DEFAULT true,
    ADD COLUMN optional_holidays boolean NOT NULL DEFAULT true; -- carnival and Corpus Christi

-- The organisation's own days off; the national ones are computed.
CREATE TABLE holidays (
    tenant_id bigint NOT NULL REFERENCES tenants (id),
    day       date NOT NULL,
    name      text NOT NULL CONSTRAINT holidays_name_is_readable CHECK (name = btrim(name) AND length(name) BETWEEN 1 AND 120),
    PRIMARY KEY (tenant_id, day)
);

CREATE INDEX audit_entries_newest_idx ON audit_entries (tenant_id, id);
CREATE INDEX audit_entries_actor_idx ON audit_entries (tenant_id, actor_id, id);
CREATE INDEX audit_entries_act_idx ON audit_entries (tenant_id, act, id);

-- Other steps add kinds as well, before this one or after it: the list that is
-- there is kept and one kind added, whatever else it holds.
DO $$
DECLARE
    was text := (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'outbox_events_type_is_known');
BEGIN
    ALTER TABLE outbox_events DROP CONSTRAINT outbox_events_type_is_known;
    EXECUTE 'ALTER TABLE outbox_events ADD CONSTRAINT outbox_events_type_is_known '
        || regexp_replace(was, 'ARRAY\[', 'ARRAY[''message.test''::text, ');
END $$;

COMMIT;
