-- Takes back everything of 000001.
BEGIN;
DROP TABLE audit_entries, one_time_links, sign_in_attempts, sessions, grants, people, tenants, installation;
DROP FUNCTION refuse_change();
DROP FUNCTION fold(text);
DROP EXTENSION citext;
COMMIT;
