-- Takes back everything of 000005.
BEGIN;
DROP TABLE import_lines, imports;
COMMIT;
