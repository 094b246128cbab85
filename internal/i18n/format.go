package i18n

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var months = map[Locale][12]string{
	PT: {"jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez"},
	EN: {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"},
}

var longMonths = map[Locale][12]string{
	PT: {"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro"},
	EN: {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
}

var weekdays = map[Locale][7]string{
	PT: {"domingo", "segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado"},
	EN: {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
}

// Int writes a whole number: 2.871 in pt-BR, 2,871 in English.
func (l Locale) Int(n int) string {
	sep := "."
	if l == EN {
		sep = ","
	}
	s := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, s = "−", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + sep + s[i:]
	}
	return sign + s
}

// Decimal writes x with one digit after the separator: 3,2 or 3.2.
func (l Locale) Decimal(x float64) string {
	s := strconv.FormatFloat(x, 'f', 1, 64)
	if l == PT {
		s = strings.Replace(s, ".", ",", 1)
	}
	return s
}

// Percent writes part of whole with one digit; never 100% while one is
// missing, never 0% while one is there.
func (l Locale) Percent(part, whole int) string {
	if whole <= 0 {
		return "0%"
	}
	p := 100 * float64(part) / float64(whole)
	if part < whole {
		p = math.Min(p, 99.9)
	}
	if part > 0 {
		p = math.Max(p, 0.1)
	}
	if p == math.Trunc(p) {
		return strconv.Itoa(int(p)) + "%"
	}
	return l.Decimal(p) + "%"
}

// Date writes the day of t in t's own zone: 30 nov 2026, 30 Nov 2026.
func (l Locale) Date(t time.Time) string {
	return fmt.Sprintf("%d %s %d", t.Day(), months[l][t.Month()-1], t.Year())
}

// LongDate writes segunda-feira, 30 de novembro de 2026; Monday, 30 November 2026.
func (l Locale) LongDate(t time.Time) string {
	if l == EN {
		return fmt.Sprintf("%s, %d %s %d", weekdays[l][t.Weekday()], t.Day(), longMonths[l][t.Month()-1], t.Year())
	}
	return fmt.Sprintf("%s, %d de %s de %d", weekdays[l][t.Weekday()], t.Day(), longMonths[l][t.Month()-1], t.Year())
}

// DayMonth writes 30 de novembro; 30 November.
func (l Locale) DayMonth(t time.Time) string {
	if l == EN {
		return fmt.Sprintf("%d %s", t.Day(), longMonths[l][t.Month()-1])
	}
	return fmt.Sprintf("%d de %s", t.Day(), longMonths[l][t.Month()-1])
}

// Clock writes 23:59.
func (l Locale) Clock(t time.Time) string { return t.Format("15:04") }

// DateTime writes 30 nov 2026, 23:59 in t's own zone, without naming it.
func (l Locale) DateTime(t time.Time) string { return l.Date(t) + ", " + l.Clock(t) }

// DateTimeZone writes 30 nov 2026, 23:59 (horário de Brasília).
func (l Locale) DateTimeZone(t time.Time) string { return l.DateTime(t) + " (" + l.Zone(t) + ")" }

// Zone names t's zone as the reader says it; an unknown one by its offset.
func (l Locale) Zone(t time.Time) string {
	if pair, ok := zones[t.Location().String()]; ok {
		return pair.in(l)
	}
	return l.Offset(t)
}

// Offset writes UTC−3 or UTC+5:30.
func (l Locale) Offset(t time.Time) string {
	_, s := t.Zone()
	if s == 0 {
		return "UTC"
	}
	sign := "+"
	if s < 0 {
		sign, s = "−", -s
	}
	if m := s % 3600 / 60; m != 0 {
		return fmt.Sprintf("UTC%s%d:%02d", sign, s/3600, m)
	}
	return fmt.Sprintf("UTC%s%d", sign, s/3600)
}

// zones names the zones of Brazil as people there do.
var zones = map[string]Text{
	"America/Sao_Paulo":   {"horário de Brasília", "Brasília time"},
	"America/Bahia":       {"horário de Brasília", "Brasília time"},
	"America/Fortaleza":   {"horário de Brasília", "Brasília time"},
	"America/Recife":      {"horário de Brasília", "Brasília time"},
	"America/Belem":       {"horário de Brasília", "Brasília time"},
	"America/Manaus":      {"horário de Manaus", "Manaus time"},
	"America/Cuiaba":      {"horário de Cuiabá", "Cuiabá time"},
	"America/Rio_Branco":  {"horário do Acre", "Acre time"},
	"America/Noronha":     {"horário de Fernando de Noronha", "Fernando de Noronha time"},
	"America/Porto_Velho": {"horário de Porto Velho", "Porto Velho time"},
	"UTC":                 {"UTC", "UTC"},
}

// InZone returns t in the named IANA zone; Brasília's when the name is unknown.
func InZone(t time.Time, name string) time.Time {
	loc, err := time.LoadLocation(name)
	if err != nil {
		loc, _ = time.LoadLocation("America/Sao_Paulo")
	}
	return t.In(loc)
}
