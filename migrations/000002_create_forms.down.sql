-- Takes back everything of 000002.
BEGIN;
DROP TABLE form_versions, forms;
COMMIT;
