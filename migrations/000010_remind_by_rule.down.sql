BEGIN;
DROP TABLE lost_link_requests;
ALTER TABLE cycles DROP COLUMN reminds;
COMMIT;
