BEGIN;
DELETE FROM delivery_attempts a USING outbox_events e WHERE e.tenant_id = a.tenant_id AND e.id = a.event_id AND e.event_type = 'message.test';
DELETE FROM outbox_events WHERE event_type = 'message.test';
DO $$
DECLARE
    was text := (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'outbox_events_type_is_known');
BEGIN
    ALTER TABLE outbox_events DROP CONSTRAINT outbox_events_type_is_known;
    EXECUTE 'ALTER TABLE outbox_events ADD CONSTRAINT outbox_events_type_is_known ' || replace(was, '''message.test''::text, ', '');
END $$;
DROP INDEX audit_entries_act_idx;
DROP INDEX audit_entries_actor_idx;
DROP INDEX audit_entries_newest_idx;
DROP TABLE holidays;
ALTER TABLE tenants
    DROP COLUMN optional_holidays,
    DROP COLUMN national_holidays,
    DROP COLUMN working_days,
    DROP COLUMN reply_to;
COMMIT;
