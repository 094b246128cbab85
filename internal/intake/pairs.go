package intake

import (
	"strings"

	"ciclo/internal/fault"
)

// What a reviewer is to the person under review.
const (
	PairSelf    = "self"
	PairManager = "manager"
	PairPeer    = "peer"
	PairReport  = "report"
)

var kinds = map[string]string{
	"self": PairSelf, "auto": PairSelf, "autoavaliacao": PairSelf, "selfreview": PairSelf, "selfassessment": PairSelf,
	"manager": PairManager, "gestor": PairManager, "gestora": PairManager, "gestoraa": PairManager, "gestorgestora": PairManager, "lider": PairManager, "chefe": PairManager,
	"peer": PairPeer, "par": PairPeer, "pares": PairPeer, "colega": PairPeer,
	"report": PairReport, "liderado": PairReport, "liderada": PairReport, "lideradoa": PairReport, "directreport": PairReport, "subordinado": PairReport, "subordinada": PairReport,
}

// PairRow is one line of a roster file. People are mentioned by address or
// employee code; the store finds them.
type PairRow struct {
	Line     int       `json:"line"`
	Reviewee Ref       `json:"reviewee"`
	Reviewer Ref       `json:"reviewer"`
	Kind     string    `json:"kind"`
	Problems []Problem `json:"problems,omitempty"`
}

// ReadPairs turns the rows of s into pairs, each with what is wrong with it.
// The mapping has passed PairColumns.Check.
func ReadPairs(s *Sheet, m Mapping) []PairRow {
	l := lineReader{sheet: s, mapping: m, columns: PairColumns}
	seen := map[[3]string]int{}
	rows := make([]PairRow, len(s.Rows))
	for i, r := range s.Rows {
		l.start(r)
		p := PairRow{Line: r.Line}
		var reviewee, reviewer bool
		p.Reviewee, reviewee = l.person(Reviewee)
		p.Reviewer, reviewer = l.person(Reviewer)
		if v, ok := l.text(Kind); ok {
			if p.Kind, ok = kinds[fold(*v)]; !ok {
				l.refuse(Kind, *v, fault.Msg("intake.kind_unknown"))
			}
		}
		if reviewee && reviewer && p.Kind != "" {
			l.agree(p, seen)
		}
		p.Problems = l.problems
		rows[i] = p
	}
	return rows
}

// person reads a mention by address or code.
func (l *lineReader) person(f Field) (Ref, bool) {
	v, ok := l.text(f)
	if !ok {
		return Ref{}, false
	}
	ref := NewRef(*v)
	if ref.Kind == ByName && !strings.Contains(*v, " ") {
		ref.Kind = ByCode // codes of letters only; nobody's full name is one word
	}
	switch why, right := CheckEmail(*v); {
	case ref.Kind == ByAddress && !right:
		l.refuse(f, *v, why)
		return ref, false
	case ref.Kind == ByName:
		l.refuse(f, *v, fault.Msg("intake.pair_by_name"))
		return ref, false
	}
	return ref, true
}

// agree checks the pair as a whole: kind against people, and earlier lines.
func (l *lineReader) agree(p PairRow, seen map[[3]string]int) {
	same := p.Reviewee.Key() == p.Reviewer.Key()
	comparable := p.Reviewee.Kind == p.Reviewer.Kind
	switch {
	case p.Kind == PairSelf && comparable && !same:
		l.refuse(Reviewer, p.Reviewer.Text, fault.Msg("intake.self_of_two", "reviewee", p.Reviewee.Text))
		return
	case p.Kind != PairSelf && same:
		l.refuse(Reviewer, p.Reviewer.Text, fault.Msg("intake.other_of_one"))
		return
	}
	key := [3]string{p.Reviewee.Key(), p.Reviewer.Key(), p.Kind}
	if line, twice := seen[key]; twice {
		l.refuse(Reviewer, p.Reviewer.Text, fault.Msg("intake.pair_twice", "line", line))
		return
	}
	seen[key] = p.Line
}
