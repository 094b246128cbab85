-- A line that fits two people waits until a person says which. What they said
-- is kept beside the line, so that a new comparison does not ask again. And a
-- workbook says which of its sheets was read.
BEGIN;
ALTER TABLE imports
    ADD COLUMN tab text NOT NULL DEFAULT '';
ALTER TABLE import_lines
    DROP CONSTRAINT import_lines_verdict_is_known,
    ADD CONSTRAINT import_lines_verdict_is_known CHECK (verdict IN ('create', 'update', 'unchanged', 'reject', 'remove', 'decide')),
    -- what is open or was decided, with whom each answer stands for
    ADD COLUMN questions jsonb NOT NULL DEFAULT '[]',
    -- the answers, by question
    ADD COLUMN choices jsonb NOT NULL DEFAULT '{}' CONSTRAINT import_lines_choices_are_an_object CHECK (jsonb_typeof(choices) = 'object');
COMMIT;
