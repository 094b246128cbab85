package appraisal

import (
	"math/big"

	"ciclo/internal/fault"
)

// MissingPart says what becomes of a result when a perspective that was asked
// for has not answered.
type MissingPart string

// The choices.
const (
	PartIncomplete MissingPart = "incomplete" // there is no total
	PartReweigh    MissingPart = "reweigh"    // the others count for all of it, and the page says so
)

// Scoring is how a cycle's results come from its perspectives. Only the ratio of
// the weights matters; one with weight nought is shown and not counted.
type Scoring struct {
	Weights map[Kind]int
	Missing MissingPart
}

// Check refuses a scoring that cannot give a total.
func (s Scoring) Check() error {
	wrong := map[string]fault.Message{}
	sum := 0
	for _, k := range Kinds {
		if s.Weights[k] < 0 || s.Weights[k] > 100 {
			wrong["weight-"+string(k)] = fault.Msg("results.weight_range")
		}
		sum += s.Weights[k]
	}
	if len(wrong) == 0 && sum == 0 {
		wrong["weight-"+string(Kinds[0])] = fault.Msg("results.weight_none")
	}
	if s.Missing != PartIncomplete && s.Missing != PartReweigh {
		wrong["missing"] = fault.Msg("fault.required")
	}
	if len(wrong) > 0 {
		return fault.Fieldsf(wrong)
	}
	return nil
}

// Score is the weighted mean of a form's ratings, in exact decimal arithmetic.
// Comments never count; what the reviewer could not judge or left out counts for
// nothing and takes its weight along; a rating of 0 is a rating. Nil means that
// nothing was rated.
func Score(c FormContent, answers Answers) *big.Rat {
	sum, weights := new(big.Rat), new(big.Rat)
	weighted := c.Weighted()
	for _, q := range c.Questions {
		a := answers[q.ID]
		if q.Kind != QuestionRating || a.NA || a.Rating == nil {
			continue
		}
		weight := big.NewRat(1, 1)
		if weighted {
			weight = big.NewRat(int64(q.Weight), 1)
		}
		sum.Add(sum, new(big.Rat).Mul(weight, big.NewRat(int64(*a.Rating), 1)))
		weights.Add(weights, weight)
	}
	if weights.Sign() == 0 {
		return nil
	}
	return sum.Quo(sum, weights)
}

// Part is one perspective's share of a result.
type Part struct {
	Asked     int      // evaluations that were asked for
	Submitted int      // of those
	Mean      *big.Rat // of the scores; nil while there is none
	scored    int
}

// Result is what the perspectives say of one participant.
type Result struct {
	PersonID   int64
	Name       string
	Department string
	Withheld   bool // it is about who looks
	Parts      map[Kind]Part
}

// Add counts an evaluation; score is nil when it has none.
func (r *Result) Add(kind Kind, state State, score *big.Rat) {
	if r.Parts == nil {
		r.Parts = map[Kind]Part{}
	}
	p := r.Parts[kind]
	p.Asked++
	if state == Submitted {
		p.Submitted++
	}
	if score != nil {
		if p.Mean == nil {
			p.Mean = new(big.Rat)
		}
		sum := new(big.Rat).Mul(p.Mean, big.NewRat(int64(p.scored), 1))
		p.scored++
		p.Mean = sum.Quo(sum.Add(sum, score), big.NewRat(int64(p.scored), 1))
	}
	r.Parts[kind] = p
}

// Total is the result's one figure.
type Total struct {
	Score   *big.Rat // nil when there is none
	Counted []Kind   // the perspectives in it
	Ratio   []int    // how they count, in the order of Counted, as small as can be: 5 : 2
	Missing []Kind   // perspectives that were asked, count, and have not answered
}

// Total weighs the perspectives. One that nobody was asked for is no part of the
// result; one that was asked and has not answered leaves it incomplete, or to
// the others, as the cycle says.
func (s Scoring) Total(r Result) (t Total) {
	for _, k := range Kinds {
		p := r.Parts[k]
		switch {
		case s.Weights[k] == 0 || p.Asked == 0:
		case p.Mean == nil:
			t.Missing = append(t.Missing, k)
		default:
			t.Counted = append(t.Counted, k)
			t.Ratio = append(t.Ratio, s.Weights[k])
		}
	}
	if len(t.Counted) == 0 || len(t.Missing) > 0 && s.Missing == PartIncomplete {
		return t
	}
	sum, weights := new(big.Rat), new(big.Rat)
	divisor := 0
	for i, k := range t.Counted {
		weight := big.NewRat(int64(t.Ratio[i]), 1)
		sum.Add(sum, new(big.Rat).Mul(weight, r.Parts[k].Mean))
		weights.Add(weights, weight)
		divisor = gcd(divisor, t.Ratio[i])
	}
	for i := range t.Ratio {
		t.Ratio[i] /= divisor
	}
	t.Score = sum.Quo(sum, weights)
	return t
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Results is one page of a cycle's results.
type Results struct {
	Head        CycleHead
	Scoring     Scoring
	Scale       Scale
	Rated       bool // the form has ratings, so that there can be scores
	Rows        []Result
	Total       int // participants that match
	Waiting     int // evaluations that were asked for and are not in
	Departments []string
}
