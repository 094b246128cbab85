package calendar

import (
	"testing"
	"time"
)

func TestEasterOfYearsThatAreKnown(t *testing.T) {
	for year, want := range map[int]string{1961: "1961-04-02", 2000: "2000-04-23", 2011: "2011-04-24", 2024: "2024-03-31", 2025: "2025-04-20", 2026: "2026-04-05", 2027: "2027-03-28", 2038: "2038-04-25"} {
		if got := Easter(year).Format(time.DateOnly); got != want {
			t.Errorf("Easter %d is %s, want %s", year, got, want)
		}
	}
}

func TestWhichDaysAreWorked(t *testing.T) {
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	usual := Calendar{WorkingDays: []int{1, 2, 3, 4, 5}, National: true, Optional: true, Own: []Holiday{{Day: day("2026-01-25"), Name: "Aniversário"}, {Day: day("2026-07-09"), Name: "Revolução"}}}
	plain := Calendar{WorkingDays: []int{1, 6, 7}}
	for _, tt := range []struct {
		name string
		c    Calendar
		day  string
		want bool
	}{
		{"a Monday", usual, "2026-11-30", true},
		{"a Saturday", usual, "2026-11-28", false},
		{"Good Friday", usual, "2026-04-03", false},
		{"carnival Monday", usual, "2026-02-16", false},
		{"carnival Tuesday", usual, "2026-02-17", false},
		{"Ash Wednesday", usual, "2026-02-18", true},
		{"Corpus Christi", usual, "2026-06-04", false},
		{"Consciência Negra since 2024", usual, "2026-11-20", false},
		{"and not before", usual, "2023-11-20", true},
		{"a day of the organisation's own", usual, "2026-07-09", false},
		{"the same day next year", usual, "2027-07-09", true},
		{"a Saturday that is worked", plain, "2026-11-28", true},
		{"a Sunday that is worked", plain, "2026-11-29", true},
		{"Christmas where nothing is off", plain, "2028-12-25", true},
		{"a Tuesday that is not worked", plain, "2026-12-01", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.c.Works(day(tt.day)); got != tt.want {
				t.Errorf("worked: %v, want %v", got, tt.want)
			}
		})
	}
	if got := len(usual.Holidays(2026)); got != 15 {
		t.Errorf("%d days off in 2026, want 15", got)
	}
}
