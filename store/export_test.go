package store

import "github.com/jackc/pgx/v5"

// ClaimSQL and ClaimArgs let a test explain the claim as it would run next.
const ClaimSQL = claimSQL

func (s *Store) ClaimArgs(queue string, tenant int64) pgx.NamedArgs {
	floor := s.floors.at(queue, tenant)
	return pgx.NamedArgs{"tenant": tenant, "queue": queue, "prev": int64(0), "prev_attempts": 0,
		"floor_at": floor.at, "floor_id": floor.id, "lease": 90.0}
}

// ListMessagesSQL and MatchingArgs let a test explain how the messages page reads.
const ListMessagesSQL = listMessagesSQL

var MatchingArgs = matching
