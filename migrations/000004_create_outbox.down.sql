-- Takes back everything of 000004.
BEGIN;
DROP TABLE delivery_attempts, outbox_events;
COMMIT;
