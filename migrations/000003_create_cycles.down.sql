-- Takes back everything of 000003.
BEGIN;
ALTER TABLE sessions DROP CONSTRAINT sessions_cycle_fk;
DROP TABLE review_links, answers, evaluations, participants, roster_changes, activations, cycles;
DROP FUNCTION lock_roster_of_row();
DROP FUNCTION lock_roster_of_statement();
DROP FUNCTION roster_must_be_open(bigint, bigint, bigint);
COMMIT;
