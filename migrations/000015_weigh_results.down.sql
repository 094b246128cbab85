BEGIN;
ALTER TABLE cycles
    DROP CONSTRAINT cycles_missing_part_is_known,
    DROP CONSTRAINT cycles_weights_are_percentages,
    DROP COLUMN weight_self,
    DROP COLUMN weight_manager,
    DROP COLUMN weight_peer,
    DROP COLUMN weight_report,
    DROP COLUMN missing_part;
COMMIT;
