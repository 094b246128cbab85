package outbox

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	for _, tt := range []struct {
		name          string
		attempts, max int
		jitter        float64
		want          time.Duration
	}{
		{"the first wait is fifteen seconds", 1, 5, 0, 15 * time.Second},
		{"with jitter a tenth more at most", 1, 5, 1, 16500 * time.Millisecond},
		{"the second is a minute", 2, 5, 0, time.Minute},
		{"the third is four minutes", 3, 5, 0, 4 * time.Minute},
		{"the fourth is capped", 4, 5, 0, 5 * time.Minute},
		{"and stays capped with jitter", 4, 5, 1, 5 * time.Minute},
		{"a new grant of five begins anew", 6, 10, 0, 15 * time.Second},
		{"an attempt that cost nothing does not lengthen the wait", 1, 6, 0, 15 * time.Second},
		{"an endless row never waits over five minutes", 1000, 1001, 1, 5 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Backoff(tt.attempts, tt.max, tt.jitter); got != tt.want {
				t.Errorf("Backoff(%d, %d, %v) = %v, want %v", tt.attempts, tt.max, tt.jitter, got, tt.want)
			}
		})
	}
}

// Greylisting usually lasts 300 s: the fourth attempt comes after it even when
// every settle is instant.
func TestBackoffOutlastsGreylisting(t *testing.T) {
	var fourth time.Duration
	for n := 1; n <= 3; n++ {
		fourth += Backoff(n, MaxAttempts, 0)
	}
	if fourth < 300*time.Second {
		t.Errorf("the fourth attempt comes after %v", fourth)
	}
}

func TestCauseOf(t *testing.T) {
	for _, tt := range []struct {
		name     string
		class    Class
		code     int
		enhanced string
		want     Cause
	}{
		{"no such user", Permanent, 550, "5.1.1", CauseAddress},
		{"no such domain", Permanent, 550, "5.1.2", CauseAddress},
		{"disabled mailbox", Permanent, 550, "5.2.1", CauseAddress},
		{"550 without more", Permanent, 550, "", CauseAddress},
		{"mailbox full for now", Temporary, 452, "4.2.2", CauseMailboxFull},
		{"mailbox full for good", Permanent, 552, "5.2.2", CauseMailboxFull},
		{"552 without more", Permanent, 552, "", CauseMailboxFull},
		{"policy", Permanent, 554, "5.7.1", CausePolicy},
		{"greylisting", Temporary, 450, "4.7.1", CauseSlow},
		{"too busy", Temporary, 451, "4.3.0", CauseSlow},
		{"554 without more", Permanent, 554, "", CauseOther},
		{"no connection", Unavailable, 0, "", CauseUnreachable},
		{"sign-in refused", SenderRefused, 535, "5.7.8", CauseSender},
		{"no answer", Unknown, 0, "", CauseUnknown},
		{"worker lost", Lost, 0, "", CauseLost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := CauseOf(tt.class, tt.code, tt.enhanced); got != tt.want {
				t.Errorf("CauseOf() = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestDrains(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, 100: 1, 101: 2, 700: 7, 800: 8, 100_000: 8} {
		if got := Drains(n); got != want {
			t.Errorf("Drains(%d) = %d, want %d", n, got, want)
		}
	}
}
