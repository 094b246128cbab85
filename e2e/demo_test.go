package e2e

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestASecondDemoIsSentToTheFirst(t *testing.T) {
	first := shared(t)
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(path, "demo", "--data", first.data, "--listen", "127.0.0.1:0").CombinedOutput()
	if err == nil || !strings.Contains(string(said), first.url) {
		t.Errorf("a second demo on the same folder: %v\n%s", err, said)
	}
	newPlain(t, first.url).signIn(hrManager).sees("Renata")
}

func TestATakenPortIsSaid(t *testing.T) {
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, tt := range map[string]struct {
		listen string
		says   []string
	}{
		"taken":           {taken.Addr().String(), []string{taken.Addr().String(), "address already in use", "--listen"}},
		"open to others":  {"0.0.0.0:0", []string{"0.0.0.0:0", "127.0.0.1"}},
		"not an address":  {"8080", []string{"8080", "127.0.0.1:8080"}},
		"no such a port":  {"127.0.0.1:99999", []string{"99999", "--listen"}},
		"nobody's number": {"192.0.2.1:8080", []string{"192.0.2.1:8080"}},
	} {
		out, err := exec.CommandContext(t.Context(), path, "demo", "--data", filepath.Join(scratch, "never"), "--listen", tt.listen).CombinedOutput()
		if err == nil {
			t.Errorf("%s: it started", name)
		}
		for _, s := range tt.says {
			if !strings.Contains(string(out), s) {
				t.Errorf("%s: %q does not hold %q", name, out, s)
			}
		}
	}
}
