package links

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
)

func key(b byte) string {
	k := bytes.Repeat([]byte{b}, MinSecret)
	k[0] = 0
	return base64.StdEncoding.EncodeToString(k)
}

func TestRing(t *testing.T) {
	for _, tt := range []struct {
		name, ring string
		ok         bool
	}{
		{"one key", "a:" + key(1), true},
		{"two keys", "b:" + key(2) + ",a:" + key(1), true},
		{"nothing", "", false},
		{"no id", key(1), false},
		{"short", "a:" + base64.StdEncoding.EncodeToString([]byte("short")), false},
		{"not base64", "a:%%%%", false},
		{"one byte repeated", "a:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 40)), false},
		{"an id twice", "a:" + key(1) + ",a:" + key(2), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ParseRing(tt.ring); (err == nil) != tt.ok {
				t.Errorf("ParseRing() error = %v, want ok %v", err, tt.ok)
			}
		})
	}
}

func TestToken(t *testing.T) {
	ring, err := ParseRing("new:" + key(2) + ",old:" + key(1))
	if err != nil {
		t.Fatal(err)
	}
	link := Link{ID: 7, TenantID: 1, CycleID: 2, PersonID: 3, KeyID: "old", Nonce: []byte("0123456789abcdef")}
	token, err := ring.Token(link)
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := ID(token); !ok || id != 7 {
		t.Errorf("ID() = %d, %v", id, ok)
	}
	if !ring.Verify(token, link) {
		t.Error("the link's own token is refused")
	}
	for name, other := range map[string]Link{
		"another organisation": {7, 9, 2, 3, "old", link.Nonce},
		"another cycle":        {7, 1, 9, 3, "old", link.Nonce},
		"another person":       {7, 1, 2, 9, "old", link.Nonce},
		"another nonce":        {7, 1, 2, 3, "old", []byte("fedcba9876543210")},
		"another key":          {7, 1, 2, 3, "new", link.Nonce},
		"a key that is gone":   {7, 1, 2, 3, "gone", link.Nonce},
	} {
		if ring.Verify(token, other) {
			t.Errorf("the token also opens %s", name)
		}
	}
	for _, forged := range []string{"", "x", token + "A", token[:len(token)-1], strings.Repeat("A", len(token)), "../" + token} {
		if ring.Verify(forged, link) {
			t.Errorf("forged token %q is accepted", forged)
		}
	}
}
