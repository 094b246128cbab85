BEGIN;
DELETE FROM outbox_events WHERE event_type = 'invitation.sample';
ALTER TABLE outbox_events
    DROP CONSTRAINT outbox_events_type_is_known,
    ADD CONSTRAINT outbox_events_type_is_known CHECK (event_type IN (
        'evaluation.assigned', 'evaluation.reminder', 'evaluation.extended', 'evaluation.reassigned', 'evaluation.withdrawn', 'evaluation.received',
        'cycle.cancelled', 'link.again', 'person.invited', 'password.reset', 'address.changed', 'messages.failed', 'sending.stopped',
        'extension.asked', 'extension.answered'));
DROP TABLE rehearsals;
ALTER TABLE participants DROP COLUMN kept_at, DROP COLUMN kept_by;
DROP TABLE absences;
COMMIT;
