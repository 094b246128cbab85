package intake

import (
	"strings"

	"ciclo/internal/fault"
)

// CheckEmail answers what is wrong with an address, and whether it is right. It
// asks only what every mail server asks; whether anybody reads there is for the
// first message to find out.
func CheckEmail(s string) (why fault.Message, ok bool) {
	local, domain, _ := strings.Cut(s, "@")
	switch {
	case strings.ContainsAny(s, ";,") && strings.Count(s, "@") > 1:
		return fault.Msg("intake.email_several"), false
	case strings.Count(s, "@") == 0:
		return fault.Msg("intake.email_no_at"), false
	case strings.ContainsAny(s, "<>"):
		return fault.Msg("intake.email_brackets"), false
	case strings.Count(s, "@") > 1:
		return fault.Msg("intake.email_two_at"), false
	case strings.ContainsAny(s, " \t"):
		return fault.Msg("intake.email_space"), false
	case local == "":
		return fault.Msg("intake.email_no_local"), false
	case domain == "":
		return fault.Msg("intake.email_no_domain"), false
	case !strings.Contains(domain, "."):
		return fault.Msg("intake.email_no_dot", "domain", domain), false
	case len(local) > 64 || len(s) > 254:
		return fault.Msg("intake.email_long"), false
	}
	for _, r := range s {
		if r > 127 {
			return fault.Msg("intake.email_accent", "char", visible(string(r))), false
		}
	}
	for _, part := range []string{local, domain} {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".") || strings.Contains(part, "..") {
			return fault.Msg("intake.email_dots"), false
		}
	}
	for _, r := range local {
		if !letterOrDigit(r) && !strings.ContainsRune(".!#$%&'*+/=?^_`{|}~-", r) {
			return fault.Msg("intake.email_char", "char", string(r)), false
		}
	}
	for _, label := range strings.Split(domain, ".") {
		for _, r := range label {
			if !letterOrDigit(r) && r != '-' {
				return fault.Msg("intake.email_char", "char", string(r)), false
			}
		}
		if len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return fault.Msg("intake.email_label", "domain", shorten(domain, 60)), false
		}
	}
	return fault.Message{}, true
}

func letterOrDigit(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// RefKind is what a mention of a person looks like.
type RefKind string

// A person can be named by address, by employee code or by full name.
const (
	ByAddress RefKind = "address"
	ByCode    RefKind = "code"
	ByName    RefKind = "name"
)

// Ref is a person as a file mentions them; the store finds who it is.
type Ref struct {
	Text string  `json:"text"`
	Kind RefKind `json:"kind"`
}

// NewRef judges a mention by its looks: an @ makes an address, a digit without
// a space a code, and anything else is a name.
func NewRef(text string) Ref {
	switch {
	case strings.Contains(text, "@"):
		return Ref{text, ByAddress}
	case strings.ContainsAny(text, "0123456789") && !strings.Contains(text, " "):
		return Ref{text, ByCode}
	}
	return Ref{text, ByName}
}

// Key is equal for two mentions that are the same text to a person.
func (r Ref) Key() string {
	if r.Kind == ByName {
		return FoldName(r.Text)
	}
	return strings.ToLower(r.Text)
}
