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

// CheckZone asks the database about a zone.
var CheckZone = checkZone

// HoldParses takes every turn to read a file, and has the next one wait for no
// time at all, until the answer is called.
func HoldParses() (giveBack func()) {
	for range parsesAtOnce {
		parses <- struct{}{}
	}
	wait := parseWait
	parseWait = 0
	return func() {
		parseWait = wait
		for range parsesAtOnce {
			<-parses
		}
	}
}

// ListAuditSQL, CountAuditSQL and AuditArgs let a test explain how the audit reads.
const (
	ListAuditSQL  = listAuditSQL
	CountAuditSQL = countAuditSQL
)

var AuditArgs = auditArgs
