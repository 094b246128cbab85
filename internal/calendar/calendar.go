// Package calendar knows which days an organisation works: its weekdays, Brazil's
// national holidays with the ones that move with Easter, and days of its own. It
// is pure, asks no clock and knows no zone: a day is a date at midnight UTC.
package calendar

import (
	"slices"
	"time"
)

// Holiday is one day off. Name is what the organisation calls its own; for the
// computed ones Key names them in the catalogue.
type Holiday struct {
	Day  time.Time
	Key  string
	Name string
}

// Calendar says which days are worked.
type Calendar struct {
	WorkingDays []int // as ISO numbers them: Monday is 1
	National    bool  // Brazil's national holidays are days off
	Optional    bool  // so are carnival and Corpus Christi
	Own         []Holiday
}

// Works reports whether a day is worked.
func (c Calendar) Works(day time.Time) bool {
	day = date(day)
	weekday := int(day.Weekday())
	if weekday == 0 {
		weekday = 7
	}
	if !slices.Contains(c.WorkingDays, weekday) {
		return false
	}
	return !slices.ContainsFunc(c.Holidays(day.Year()), func(h Holiday) bool { return h.Day.Equal(day) })
}

// Holidays lists a year's days off, whatever weekday they fall on, by date.
func (c Calendar) Holidays(year int) []Holiday {
	var days []Holiday
	easter := Easter(year)
	if c.National {
		for _, f := range fixed {
			if year >= f.since {
				days = append(days, Holiday{Day: time.Date(year, f.month, f.day, 0, 0, 0, 0, time.UTC), Key: f.key})
			}
		}
		days = append(days, Holiday{Day: easter.AddDate(0, 0, -2), Key: "holiday.good_friday"})
	}
	if c.Optional {
		days = append(days, Holiday{Day: easter.AddDate(0, 0, -48), Key: "holiday.carnival"},
			Holiday{Day: easter.AddDate(0, 0, -47), Key: "holiday.carnival"}, Holiday{Day: easter.AddDate(0, 0, 60), Key: "holiday.corpus_christi"})
	}
	for _, h := range c.Own {
		if h.Day.Year() == year {
			days = append(days, h)
		}
	}
	slices.SortStableFunc(days, func(a, b Holiday) int { return a.Day.Compare(b.Day) })
	return days
}

// fixed are Brazil's national holidays with a date of their own, each since the
// year from which it is one.
var fixed = []struct {
	month time.Month
	day   int
	since int
	key   string
}{
	{time.January, 1, 0, "holiday.new_year"},
	{time.April, 21, 0, "holiday.tiradentes"},
	{time.May, 1, 0, "holiday.labour"},
	{time.September, 7, 0, "holiday.independence"},
	{time.October, 12, 0, "holiday.aparecida"},
	{time.November, 2, 0, "holiday.all_souls"},
	{time.November, 15, 0, "holiday.republic"},
	{time.November, 20, 2024, "holiday.zumbi"},
	{time.December, 25, 0, "holiday.christmas"},
}

// Easter is its Sunday, by the Gregorian computus.
func Easter(year int) time.Time {
	a, b, c := year%19, year/100, year%100
	d, e := b/4, b%4
	g := (8*b + 13) / 25
	h := (19*a + b - d - g + 15) % 30
	i, k := c/4, c%4
	l := (32 + 2*e + 2*i - h - k) % 7
	m := (a + 11*h + 19*l) / 433
	month := (h + l - 7*m + 90) / 25
	day := (h + l - 7*m + 33*month + 19) % 32
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
}

func date(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}
