package appraisal

import (
	"regexp"
	"time"
)

var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*$`)

// Zone answers the time zone of that name, and whether it is one that means the
// same on every machine. What only this one knows (localtime, posixrules), the
// copies with leap seconds (right/…) and paths (./UTC) are none.
func Zone(name string) (*time.Location, bool) {
	if !zoneName.MatchString(name) || name == "Local" || name == "Factory" {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	return zone, err == nil
}
