package store

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/links"
)

// Guesses at slips. A code names one person in one cycle, so a limit for each
// code is one for each person; by the employee code alone, anybody could lock a
// colleague out. After SlipTries a code waits SlipWait, and twice as long after
// as many more, up to a day; whoever guesses at many codes meets the limit of
// their network, long before they could make everybody meet the limit of all.
// Only wrong ones count toward these two.
const (
	SlipTries     = 5
	SlipWait      = 15 * time.Minute
	SlipTriesHere = 300
	SlipTriesAll  = 3000
	SlipSpan      = 10 * time.Minute
)

// TrySlip answers whose slip a code is, when the employee code is theirs too.
// Whichever of the two is wrong, the answer is the same. A try is counted before
// it is looked at, so that guesses made at once do not pass together. A right
// code that opens nothing any more is a Conflict that says why.
func (s *Store) TrySlip(ctx context.Context, ring links.Ring, employee, typed string, from netip.Addr) (LinkOwner, error) {
	id, code, ok := links.ReadSlip(typed)
	if !ok { // told from the code alone, so that it gives nothing away and costs no try
		return LinkOwner{}, fault.Fieldsf(map[string]fault.Message{"code": fault.Msg("slip.mistyped")})
	}
	here := "slip " + network(from)
	if err := s.takeTry(ctx, here, SlipTriesHere, SlipSpan); err != nil {
		if fault.KindOf(err) == fault.TooMany {
			err = fault.New(fault.TooMany, "slip.wait_all", "minutes", int(SlipSpan.Minutes()))
		}
		return LinkOwner{}, err
	}
	if err := s.takeSlipTry(ctx, id); err != nil {
		return LinkOwner{}, err
	}
	var owner LinkOwner
	err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
		owner, err = readReviewLink(ctx, tx, id, func(l links.Link) bool { return ring.VerifySlip(code, l) })
		return err
	})
	switch {
	case err != nil && fault.As(err) == nil:
		return LinkOwner{}, err
	case owner.PersonID == 0 || !strings.EqualFold(strings.TrimSpace(employee), owner.Code):
		return LinkOwner{}, fault.Invalidf("slip.wrong")
	}
	if forgetting := s.forgetSlipTries(ctx, id, here); forgetting != nil {
		return LinkOwner{}, forgetting
	}
	return owner, inSlipWords(err)
}

// inSlipWords says of a slip what would be said of a link.
func inSlipWords(err error) error {
	f := fault.As(err)
	if f == nil {
		return err
	}
	switch f.Key {
	case "review_link.revoked":
		return fault.Conflictf("slip.revoked")
	case "review_link.left":
		return fault.Conflictf("slip.left")
	}
	return err
}

// SlipOwner reads again whose slip it was that a browser gave the code of.
func (s *Store) SlipOwner(ctx context.Context, link int64) (owner LinkOwner, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) (err error) {
		owner, err = readReviewLink(ctx, tx, link, func(links.Link) bool { return true })
		return err
	})
	return owner, inSlipWords(err)
}

// OpenSlip is SlipOwner for the person who said "this is me": it notes the first
// time, and the invitation on paper has arrived.
func (s *Store) OpenSlip(ctx context.Context, link int64) (owner LinkOwner, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) (err error) {
		if owner, err = readReviewLink(ctx, tx, link, func(links.Link) bool { return true }); err != nil {
			return err
		}
		if err := noteOpened(ctx, tx, owner, true); err != nil {
			return err
		}
		return settleHandout(ctx, tx, owner)
	})
	return owner, inSlipWords(err)
}

// takeSlipTry counts a try for the code and for all codes, or answers that one
// of them must wait.
func (s *Store) takeSlipTry(ctx context.Context, link int64) error {
	var passes bool
	err := s.pool.QueryRow(ctx, `
		INSERT INTO slip_tries AS t (subject, tries)
		VALUES ('all', 1)
		ON CONFLICT (subject) DO UPDATE
		SET tries = CASE WHEN t.since < now() - make_interval(secs => @span) THEN 1 ELSE t.tries + 1 END,
		    since = CASE WHEN t.since < now() - make_interval(secs => @span) THEN now() ELSE t.since END,
		    last_at = now()
		WHERE t.tries < @most
		   OR t.since < now() - make_interval(secs => @span)
		RETURNING true`, pgx.NamedArgs{"span": SlipSpan.Seconds(), "most": SlipTriesAll}).Scan(&passes)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.New(fault.TooMany, "slip.wait_all", "minutes", int(SlipSpan.Minutes()))
	}
	if err != nil {
		return fmt.Errorf("count a try at a slip: %w", err)
	}
	subject := pgx.NamedArgs{"subject": slipSubject(link), "each": SlipTries, "wait": SlipWait.Seconds()}
	err = s.pool.QueryRow(ctx, `
		INSERT INTO slip_tries AS t (subject, tries)
		VALUES (@subject, 1)
		ON CONFLICT (subject) DO UPDATE
		SET tries = CASE WHEN t.last_at < now() - interval '1 day' THEN 1 ELSE t.tries + 1 END,
		    last_at = now(),
		    blocked_until = CASE WHEN t.last_at >= now() - interval '1 day' AND (t.tries + 1) % @each = 0
		        THEN now() + least(interval '1 day', make_interval(secs => @wait * 2 ^ least(10, (t.tries + 1) / @each - 1))) END
		WHERE t.blocked_until IS NULL
		   OR t.blocked_until <= now()
		RETURNING true`, subject).Scan(&passes)
	if !errors.Is(err, pgx.ErrNoRows) {
		if err != nil {
			return fmt.Errorf("count a try at a slip: %w", err)
		}
		return nil
	}
	var minutes int
	err = s.pool.QueryRow(ctx, `
		SELECT coalesce(max(ceil(extract(epoch FROM blocked_until - now()) / 60)), 1)::int
		FROM slip_tries
		WHERE subject = @subject`, subject).Scan(&minutes)
	if err != nil {
		return fmt.Errorf("read how long a slip waits: %w", err)
	}
	return fault.New(fault.TooMany, "slip.wait", "tries", SlipTries, "minutes", max(1, minutes))
}

// forgetSlipTries takes back what a right code counted.
func (s *Store) forgetSlipTries(ctx context.Context, link int64, here string) error {
	if _, err := s.pool.Exec(ctx, `
		WITH forgotten AS (
			DELETE FROM slip_tries
			WHERE subject = @subject
		), taken_back AS (
			UPDATE sign_in_attempts
			SET failures = greatest(0, failures - 1)
			WHERE address_hash = @here
		)
		UPDATE slip_tries
		SET tries = greatest(0, tries - 1)
		WHERE subject = 'all'`, pgx.NamedArgs{"subject": slipSubject(link), "here": addressHash(here)}); err != nil {
		return fmt.Errorf("forget tries at a slip: %w", err)
	}
	return nil
}

func slipSubject(link int64) string { return "link:" + strconv.FormatInt(link, 10) }
