package appraisal

// MendAct is what is done about several rows of a rehearsal at once.
type MendAct string

// The acts.
const (
	MendExclude MendAct = "exclude" // leave the people out, with a reason
	MendReplace MendAct = "replace" // give the pairs another reviewer
	MendManager MendAct = "manager" // have each person's manager review them
	MendKeep    MendAct = "keep"    // in another cycle too, and meant to be
)

// MendRow is one row that an act is about to touch, and why it cannot.
type MendRow struct {
	EvaluationID int64 // nought for a person whom nobody reviews
	RevieweeID   int64
	Reviewee     string
	Department   string
	Reviewer     string // as it is now
	Kind         Kind
	Manager      string // the reviewee's
	Problem      MendProblem
}

// MendProblem is why an act cannot touch a row; empty when it can.
type MendProblem string

// The problems.
const (
	MendNotForThis  MendProblem = "not_for_this" // the row's trouble is another
	MendSelf        MendProblem = "self"         // a self-review has one reviewer only
	MendOneself     MendProblem = "oneself"      // they would review themself
	MendPairExists  MendProblem = "pair_exists"  // that pair is in the map already
	MendTwice       MendProblem = "twice"        // another of the rows becomes the same pair
	MendNoManager   MendProblem = "no_manager"   // nobody is their manager
	MendManagerLeft MendProblem = "manager_left" // the manager has left
)

// MendPlan is what an act would do.
type MendPlan struct {
	Head CycleHead
	Act  MendAct
	Rows []MendRow
}

// Problems counts the rows that the act cannot touch.
func (p MendPlan) Problems() (n int) {
	for _, r := range p.Rows {
		if r.Problem != "" {
			n++
		}
	}
	return n
}

// Touched counts what the act would touch: people for those about people, pairs
// for the others.
func (p MendPlan) Touched() int {
	people := map[int64]bool{}
	n := 0
	for _, r := range p.Rows {
		if r.Problem == "" {
			n++
			people[r.RevieweeID] = true
		}
	}
	if p.Act == MendExclude || p.Act == MendKeep {
		return len(people)
	}
	return n
}

// BlockerCount is how many rows one kind of blocker refuses.
type BlockerCount struct {
	Kind BlockerKind
	N    int
}

// MendableBlockers are the kinds that concern a row, and the acts that help.
var MendableBlockers = []struct {
	Kind BlockerKind
	Acts []MendAct
}{
	{ReviewerLeft, []MendAct{MendReplace, MendManager, MendExclude}},
	{WithoutReviewer, []MendAct{MendManager, MendExclude}},
	{RevieweeLeft, []MendAct{MendExclude}},
	{ExcludedButInTheRoster, []MendAct{MendExclude}},
}
