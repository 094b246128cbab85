BEGIN;
DROP TABLE extension_requests;
DROP FUNCTION deadline_of(bigint, bigint, bigint);
DROP TABLE deadline_extensions;
COMMIT;
