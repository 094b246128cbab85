BEGIN;
DROP INDEX one_time_links_person_idx;
DROP FUNCTION is_covered(text, text, bigint, text[], text[], bigint);
DELETE FROM grants WHERE role = 'hr_partner';
ALTER TABLE grants
    DROP CONSTRAINT grants_scope_says_which,
    DROP CONSTRAINT grants_scope_fits_its_role,
    DROP CONSTRAINT grants_role_is_known,
    ADD CONSTRAINT grants_role_is_known CHECK (role IN ('admin', 'hr_manager'));
DROP FUNCTION has_left(date, text);
COMMIT;
