-- Failed messages are counted beside the navigation of every page and listed
-- first: there are few of them, whatever the size of the table.
BEGIN;
CREATE INDEX outbox_events_failed_idx ON outbox_events (tenant_id, cycle_id) WHERE status = 'failed';
COMMIT;
