package appraisal

import (
	"math/big"
	"testing"

	"ciclo/internal/fault"
)

func rated(weights ...int) FormContent {
	c := FormContent{Scale: Scale{Min: 0, Max: 10}}
	for i, w := range weights {
		c.Questions = append(c.Questions, Question{ID: string(rune('a' + i)), Kind: QuestionRating, Weight: w, AllowNA: true})
	}
	c.Questions = append(c.Questions, Question{ID: "words", Kind: QuestionText})
	return c
}

func says(ratings ...int) Answers {
	a := Answers{"words": {Text: "Um texto."}}
	for i, r := range ratings {
		a[string(rune('a'+i))] = Answer{Rating: new(r)}
	}
	return a
}

func TestScoreOfOneEvaluation(t *testing.T) {
	na := says(4, 0)
	na["b"] = Answer{NA: true}
	for name, tt := range map[string]struct {
		form    FormContent
		answers Answers
		want    string
	}{
		"by weight":                       {rated(75, 25), says(4, 2), "3.50"},
		"without weights all count alike": {rated(0, 0), says(4, 1), "2.50"},
		"nought is a rating":              {rated(50, 50), says(0, 5), "2.50"},
		"what cannot be judged":           {rated(75, 25), na, "4.00"},
		"left out":                        {rated(75, 25), says(4), "4.00"},
		"only words":                      {rated(), says(), ""},
		"nothing":                         {rated(100), nil, ""},
		"a third is exact":                {rated(1, 1, 1), says(1, 1, 2), "1.33"},
	} {
		got := ""
		if s := Score(tt.form, tt.answers); s != nil {
			got = s.FloatString(2)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// C9: goals 50, peers 30, self 20, and no peer answered.
func TestAPerspectiveThatDoesNotAnswer(t *testing.T) {
	var r Result
	r.Add(Manager, Submitted, big.NewRat(4, 1))
	r.Add(Self, Submitted, big.NewRat(0, 1))
	r.Add(Peer, Expired, nil)
	r.Add(Peer, Expired, nil)
	weights := map[Kind]int{Manager: 50, Peer: 30, Self: 20, Report: 20}
	incomplete := Scoring{weights, PartIncomplete}.Total(r)
	if incomplete.Score != nil || len(incomplete.Missing) != 1 || incomplete.Missing[0] != Peer {
		t.Errorf("incomplete: %+v", incomplete)
	}
	shared := Scoring{weights, PartReweigh}.Total(r)
	if shared.Score == nil || shared.Score.Cmp(big.NewRat(20, 7)) != 0 {
		t.Errorf("reweighed to %v, want 20/7: a rating of nought counts", shared.Score)
	}
	if len(shared.Ratio) != 2 || shared.Counted[0] != Self || shared.Ratio[0] != 2 || shared.Ratio[1] != 5 {
		t.Errorf("counted %v as %v, want self and manager as 2 : 5", shared.Counted, shared.Ratio)
	}
	if p := r.Parts[Peer]; p.Asked != 2 || p.Submitted != 0 || p.Mean != nil {
		t.Errorf("peers: %+v", p)
	}
	var one Result
	one.Add(Manager, Submitted, big.NewRat(3, 1))
	if got := (Scoring{weights, PartIncomplete}).Total(one); got.Score == nil || got.Score.Cmp(big.NewRat(3, 1)) != 0 {
		t.Errorf("where only the manager was asked the total is %v, want 3", got.Score)
	}
	if got := (Scoring{map[Kind]int{Self: 1}, PartReweigh}).Total(one); got.Score != nil {
		t.Errorf("a perspective without weight gives a total of %v", got.Score)
	}
}

func TestMeanOfAPerspectiveIsExact(t *testing.T) {
	var r Result
	for range 3 {
		r.Add(Peer, Submitted, big.NewRat(1, 3))
	}
	r.Add(Peer, Submitted, nil) // said nothing that counts
	if p := r.Parts[Peer]; p.Mean.Cmp(big.NewRat(1, 3)) != 0 || p.Submitted != 4 {
		t.Errorf("%v of %d", p.Mean, p.Submitted)
	}
}

func TestScoringRefusesWhatGivesNoTotal(t *testing.T) {
	for name, s := range map[string]Scoring{
		"no weight":    {map[Kind]int{}, PartReweigh},
		"below nought": {map[Kind]int{Self: -1, Peer: 5}, PartReweigh},
		"over":         {map[Kind]int{Self: 101}, PartReweigh},
		"no choice":    {map[Kind]int{Self: 1}, ""},
	} {
		if err := s.Check(); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
