package appraisal

// SlipTeam is the slips that one manager hands out.
type SlipTeam struct {
	ManagerID int64  // nought for people without a manager
	Manager   string // empty for them
	Waiting   int    // to hand over
	Handed    int
}

// Slips lists the managers of a cycle who have slips to hand out.
type Slips struct {
	Head    CycleHead
	Teams   []SlipTeam // the page asked for
	Total   int        // managers there are
	Waiting int        // of all managers
	Handed  int
}
