-- People without an address enter with the code of a printed slip. Guesses are
-- counted for each code and for all of them together, and a session says that it
-- came from paper, so that what is submitted in it says so too.
BEGIN;
CREATE TABLE slip_tries (
    -- 'all', or 'link:' and the id of the link that the code names, whether there is one or not
    subject       text PRIMARY KEY CONSTRAINT slip_tries_subject_is_known CHECK (subject ~ '^(all|link:[0-9]{1,19})$'),
    tries         int NOT NULL CONSTRAINT slip_tries_are_not_negative CHECK (tries >= 0),
    since         timestamptz NOT NULL DEFAULT now(),
    last_at       timestamptz NOT NULL DEFAULT now(),
    blocked_until timestamptz
);
CREATE INDEX slip_tries_age_idx ON slip_tries (last_at);

ALTER TABLE sessions
    ADD COLUMN slip boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT sessions_slip_has_a_cycle CHECK (NOT slip OR cycle_id IS NOT NULL);
COMMIT;
