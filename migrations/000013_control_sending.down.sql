BEGIN;
DROP INDEX review_links_person_idx;
ALTER TABLE activations
    DROP CONSTRAINT activations_undoer_fk,
    DROP CONSTRAINT activations_undone_has_an_author,
    DROP COLUMN held_until,
    DROP COLUMN undone_at,
    DROP COLUMN undone_by;
ALTER TABLE tenants DROP COLUMN hold_minutes;
DROP TABLE worker_heartbeats;
DROP TABLE queue_pauses;
COMMIT;
