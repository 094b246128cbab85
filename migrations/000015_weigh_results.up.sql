-- How a cycle's result comes from its perspectives. Frozen with the roster.
BEGIN;
ALTER TABLE cycles
    ADD COLUMN weight_self int NOT NULL DEFAULT 20,
    ADD COLUMN weight_manager int NOT NULL DEFAULT 50,
    ADD COLUMN weight_peer int NOT NULL DEFAULT 30,
    ADD COLUMN weight_report int NOT NULL DEFAULT 20,
    ADD COLUMN missing_part text NOT NULL DEFAULT 'incomplete',
    ADD CONSTRAINT cycles_missing_part_is_known CHECK (missing_part IN ('incomplete', 'reweigh')),
    ADD CONSTRAINT cycles_weights_are_percentages CHECK (
        weight_self BETWEEN 0 AND 100 AND weight_manager BETWEEN 0 AND 100
        AND weight_peer BETWEEN 0 AND 100 AND weight_report BETWEEN 0 AND 100
        AND weight_self + weight_manager + weight_peer + weight_report > 0);
COMMIT;
