package links

import (
	"strings"
	"testing"
)

func slipRing() Ring {
	return Ring{{ID: "new", Secret: []byte("0123456789abcdef0123456789abcdef")}, {ID: "old", Secret: []byte("fedcba9876543210fedcba9876543210")}}
}

func slipLink(id int64) Link {
	return Link{ID: id, TenantID: 1, CycleID: 2, PersonID: 3, KeyID: "new", Nonce: []byte("0123456789abcdef")}
}

func TestASlipsCodeNamesItsLinkAndProvesIt(t *testing.T) {
	ring := slipRing()
	for _, id := range []int64{1, 31, 32, 7_000_000, slipIDs - 1} {
		l := slipLink(id)
		code, err := ring.SlipCode(l)
		if err != nil {
			t.Fatal(err)
		}
		if len(code) != 19 || strings.ContainsAny(code, "ILOU") {
			t.Errorf("the code of link %d is %q", id, code)
		}
		named, read, ok := ReadSlip(code)
		if !ok || named != id || read != code || !ring.VerifySlip(read, l) {
			t.Errorf("%q reads as link %d (%v), want %d", code, named, ok, id)
		}
		token, err := ring.Token(l)
		if err != nil || strings.Contains(token, code) {
			t.Errorf("the link's token says its code (%v)", err)
		}
		for what, other := range map[string]Link{
			"another organisation": {ID: id, TenantID: 9, CycleID: 2, PersonID: 3, KeyID: "new", Nonce: l.Nonce},
			"another cycle":        {ID: id, TenantID: 1, CycleID: 9, PersonID: 3, KeyID: "new", Nonce: l.Nonce},
			"another person":       {ID: id, TenantID: 1, CycleID: 2, PersonID: 9, KeyID: "new", Nonce: l.Nonce},
			"another key":          {ID: id, TenantID: 1, CycleID: 2, PersonID: 3, KeyID: "old", Nonce: l.Nonce},
			"another nonce":        {ID: id, TenantID: 1, CycleID: 2, PersonID: 3, KeyID: "new", Nonce: []byte("fedcba9876543210")},
			"a key that is gone":   {ID: id, TenantID: 1, CycleID: 2, PersonID: 3, KeyID: "gone", Nonce: l.Nonce},
		} {
			if ring.VerifySlip(read, other) {
				t.Errorf("the code of link %d opens that of %s", id, what)
			}
		}
	}
	for _, id := range []int64{0, -1, slipIDs} {
		if code, err := ring.SlipCode(slipLink(id)); err == nil {
			t.Errorf("link %d has the code %q", id, code)
		}
	}
}

func TestACodeIsReadAsPeopleTypeIt(t *testing.T) {
	code, err := slipRing().SlipCode(slipLink(4711))
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.ReplaceAll(code, "-", "")
	for _, typed := range []string{code, plain, strings.ToLower(code), " " + strings.ReplaceAll(code, "-", " ") + " ",
		strings.ReplaceAll(strings.ReplaceAll(code, "0", "o"), "1", "l"), strings.ReplaceAll(code, "-", "–")} {
		if id, read, ok := ReadSlip(typed); !ok || id != 4711 || read != code {
			t.Errorf("%q reads as %d, %q, %v", typed, id, read, ok)
		}
	}
	for _, typed := range []string{"", "-", plain[:15], plain + "0", "ÁÁÁÁ-ÁÁÁÁ-ÁÁÁÁ-ÁÁÁÁ", strings.Repeat("U", 16), strings.Repeat("9", 5000)} {
		if _, _, ok := ReadSlip(typed); ok {
			t.Errorf("%q is a code", typed)
		}
	}
}

// Every single wrong character and every two neighbours that changed places are
// told from a wrong code.
func TestTheCheckCharacterFindsWhatPeopleMistype(t *testing.T) {
	code, err := slipRing().SlipCode(slipLink(4711))
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.ReplaceAll(code, "-", "")
	for i := range len(plain) {
		for _, c := range slipAlphabet {
			if wrong := plain[:i] + string(c) + plain[i+1:]; wrong != plain {
				if _, _, ok := ReadSlip(wrong); ok {
					t.Errorf("%s passes for %s", wrong, plain)
				}
			}
		}
		if i > 0 && plain[i] != plain[i-1] {
			wrong := plain[:i-1] + string(plain[i]) + string(plain[i-1]) + plain[i+1:]
			if _, _, ok := ReadSlip(wrong); ok {
				t.Errorf("%s passes for %s", wrong, plain)
			}
		}
	}
}
