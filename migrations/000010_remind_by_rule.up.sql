-- A cycle reminds by itself, unless it is told not to. Who has lost their link
-- asks for it without being known: how often is counted by a hash of the address,
-- and by one of where the request came from, so that nobody is mailed in heaps.
BEGIN;
ALTER TABLE cycles ADD COLUMN reminds boolean NOT NULL DEFAULT true;
CREATE TABLE lost_link_requests (
    asker_hash bytea PRIMARY KEY CONSTRAINT lost_link_requests_asker_is_sha256 CHECK (length(asker_hash) = 32),
    asked      int NOT NULL DEFAULT 1,
    since      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX lost_link_requests_age_idx ON lost_link_requests (since);
COMMIT;
