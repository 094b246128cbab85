-- Who has left, by one definition; a role that covers a part of the organisation;
-- and links to set a password, found by whom they are for.
BEGIN;

-- Somebody is gone from left_on on, by the organisation's own day.
CREATE FUNCTION has_left(left_on date, zone text) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN coalesce(left_on <= (now() AT TIME ZONE zone)::date, false);

-- A partner does HR's work for parts of the organisation; the other roles hold for all of it.
ALTER TABLE grants
    DROP CONSTRAINT grants_role_is_known,
    ADD CONSTRAINT grants_role_is_known CHECK (role IN ('admin', 'hr_manager', 'hr_partner')),
    ADD CONSTRAINT grants_scope_fits_its_role CHECK ((role = 'hr_partner') = (scope <> 'organisation')),
    ADD CONSTRAINT grants_scope_says_which CHECK ((scope IN ('unit', 'department')) = (scope_value <> ''));

-- Whom a partner's scopes cover: no scopes at all means everybody. policy.Covers
-- says the same of one person.
CREATE FUNCTION is_covered(unit text, department text, manager_id bigint, units text[], departments text[], team_of bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN units IS NULL OR coalesce(unit <> '' AND unit = ANY (units) OR department <> '' AND department = ANY (departments) OR manager_id = team_of, false);

CREATE INDEX one_time_links_person_idx ON one_time_links (tenant_id, person_id) WHERE used_at IS NULL;

COMMIT;
