package mailtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// childEnv marks a test binary that was started to be a mail server.
const childEnv = "CICLO_MAILTEST_JOURNAL"

// report is a line from the server's process to the test's.
type report struct {
	Addr    string   `json:"addr,omitempty"`
	CertPEM []byte   `json:"cert_pem,omitempty"`
	Taken   *Message `json:"taken,omitempty"`
	Opened  int      `json:"opened,omitempty"`
	Closed  int      `json:"closed,omitempty"`
	Verb    string   `json:"verb,omitempty"`
	Ruled   bool     `json:"ruled,omitempty"`
}

// init turns the test binary into a mail server when StartProcess started it.
// Doing it here, before any test could run, spares every package that uses
// StartProcess a TestMain of its own. Only tests import this package.
func init() {
	path := os.Getenv(childEnv)
	if path == "" {
		return
	}
	if err := serveChild(path, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mailtest:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// StartProcess runs a server in a process of its own until the test ends; its
// journal is on disk at Path, written before each 250.
func StartProcess(tb testing.TB, script Script) *Server {
	tb.Helper()
	s, err := startProcess(filepath.Join(tb.TempDir(), "journal.jsonl"), script)
	if err != nil {
		tb.Fatalf("start the mail server's process: %v", err)
	}
	tb.Cleanup(s.Stop)
	return s
}

func startProcess(path string, script Script) (*Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), childEnv+"="+path)
	child.Stderr = os.Stderr
	orders, err := child.StdinPipe()
	if err != nil {
		return nil, err
	}
	reports, err := child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := child.Start(); err != nil {
		return nil, err
	}
	s := &Server{script: script, journal: newJournal(), Path: path}
	ready, ruled, gone := make(chan report, 1), make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(gone)
		s.listen(reports, ready, ruled)
		_ = child.Wait()
	}()
	s.stop = sync.OnceFunc(func() {
		_ = child.Process.Kill()
		<-gone
	})
	order := json.NewEncoder(orders)
	if err := order.Encode(script); err != nil {
		s.stop()
		return nil, err
	}
	select {
	case first := <-ready:
		s.addr, s.certPEM = first.Addr, first.CertPEM
	case <-gone:
		return nil, errors.New("it ended at once")
	}
	s.replace = func(rules []Rule) error {
		if err := order.Encode(rules); err != nil {
			return err
		}
		select {
		case <-ruled:
			return nil
		case <-gone:
			return errors.New("its process has ended")
		}
	}
	return s, nil
}

// listen mirrors the process's journal in this one.
func (s *Server) listen(reports io.Reader, ready chan<- report, ruled chan<- struct{}) {
	lines := json.NewDecoder(reports)
	for {
		var r report
		if lines.Decode(&r) != nil {
			return
		}
		switch {
		case r.Addr != "":
			ready <- r
		case r.Ruled:
			ruled <- struct{}{}
		default:
			s.journal.note(func() {
				if r.Taken != nil {
					s.journal.messages = append(s.journal.messages, *r.Taken)
				}
				if r.Verb != "" {
					s.journal.verbs = append(s.journal.verbs, r.Verb)
				}
				s.journal.opened = max(s.journal.opened, r.Opened)
				s.journal.closed = max(s.journal.closed, r.Closed)
			})
		}
	}
}

// serveChild is the process: a server whose journal is a file and whose changes
// are told to the test. It ends with its standard input.
func serveChild(path string, orders io.Reader, out io.Writer) error {
	in := json.NewDecoder(bufio.NewReader(orders))
	var script Script
	if err := in.Decode(&script); err != nil {
		return err
	}
	j := newJournal()
	var err error
	if j.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	e, err := startEngine(script, j)
	if err != nil {
		return err
	}
	tell := &teller{out: json.NewEncoder(out)}
	tell.say(report{Addr: e.listener.Addr().String(), CertPEM: e.certPEM})
	go tell.follow(j)
	for {
		var rules []Rule
		if in.Decode(&rules) != nil {
			return nil
		}
		e.rules.replace(rules)
		tell.say(report{Ruled: true})
	}
}

// teller writes reports one at a time.
type teller struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (t *teller) say(r report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.out.Encode(r)
}

// follow reports every change of the journal, in order.
func (t *teller) follow(j *journal) {
	var messages, verbs, opened, closed int
	for {
		j.mu.Lock()
		changed := j.changed
		newMessages, newVerbs := j.messages[messages:], j.verbs[verbs:]
		nowOpened, nowClosed := j.opened, j.closed
		j.mu.Unlock()

		for _, verb := range newVerbs {
			t.say(report{Verb: verb})
		}
		for i := range newMessages {
			t.say(report{Taken: &newMessages[i]})
		}
		if nowOpened > opened || nowClosed > closed {
			t.say(report{Opened: nowOpened, Closed: nowClosed})
		}
		messages, verbs = messages+len(newMessages), verbs+len(newVerbs)
		opened, closed = nowOpened, nowClosed
		<-changed
	}
}
