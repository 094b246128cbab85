package relay

import (
	"testing"
	"time"
)

func TestAQueueThatCannotBeMadeReadyRests(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var r rests
	for _, tt := range []struct {
		name string
		at   time.Duration // after noon
		want time.Duration
	}{
		{"a moment at first", 0, 5 * time.Second},
		{"drains that fail together are one time", time.Second, 4 * time.Second},
		{"a moment the second time", 5 * time.Second, 5 * time.Second},
		{"half a minute the third time", 10 * time.Second, 30 * time.Second},
		{"and for all that fail meanwhile", 30 * time.Second, 10 * time.Second},
		{"and each time after", 40 * time.Second, 30 * time.Second},
	} {
		if got := r.after("mail", noon.Add(tt.at)); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if got := r.left("mail", noon.Add(tt.at)); got != tt.want {
			t.Errorf("%s: %v are left, want %v", tt.name, got, tt.want)
		}
	}
	if got := r.left("mail_alone", noon); got > 0 {
		t.Errorf("another queue rests for %v", got)
	}
	r.over("mail")
	if got := r.left("mail", noon.Add(41*time.Second)); got > 0 {
		t.Errorf("a queue that is ready again still rests for %v", got)
	}
}
