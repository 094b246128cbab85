-- Lines that wait for a decision stay out, as everything did that fitted two people.
BEGIN;
UPDATE import_lines
SET verdict = 'reject', problems = coalesce(problems, '[]')
WHERE verdict = 'decide';
ALTER TABLE import_lines
    DROP COLUMN choices,
    DROP COLUMN questions,
    DROP CONSTRAINT import_lines_verdict_is_known,
    ADD CONSTRAINT import_lines_verdict_is_known CHECK (verdict IN ('create', 'update', 'unchanged', 'reject', 'remove'));
ALTER TABLE imports
    DROP COLUMN tab;
COMMIT;
