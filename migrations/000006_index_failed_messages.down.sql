-- Takes back everything of 000006.
BEGIN;
DROP INDEX outbox_events_failed_idx;
COMMIT;
