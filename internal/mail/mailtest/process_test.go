package mailtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/smtp"
	"net/textproto"
	"testing"
	"time"

	"ciclo/internal/mail/mailtest"
)

// send speaks to the server as any client would, and returns its refusal.
func send(s *mailtest.Server, to string) string {
	err := smtp.SendMail(s.Addr(), nil, "rh@acme.example", []string{to},
		[]byte("Message-ID: <outbox-1@acme.example>\r\nX-Ciclo-Event: 1\r\n\r\nOlá\r\n"))
	var reply *textproto.Error
	switch {
	case errors.As(err, &reply):
		return fmt.Sprintf("%d %s", reply.Code, reply.Msg)
	case err != nil:
		return err.Error()
	}
	return ""
}

func TestAServerInItsOwnProcess(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s := mailtest.StartProcess(t, mailtest.Script{Rules: []mailtest.Rule{
		{Phase: mailtest.Rcpt, PerRecipient: true, Times: 2, Reply: "450 4.7.1 Greylisted"},
	}})
	for range 2 {
		for _, to := range []string{"bruno@acme.example", "carla@acme.example"} {
			if got := send(s, to); got != "450 4.7.1 Greylisted" {
				t.Errorf("send to %s: %q, want greylisting", to, got)
			}
		}
	}
	if got := send(s, "bruno@acme.example"); got != "" {
		t.Errorf("third try: %q", got)
	}
	s.SetRules(t, mailtest.Rule{Phase: mailtest.End, Act: mailtest.AcceptDrop})
	if got := send(s, "carla@acme.example"); got != "EOF" {
		t.Errorf("the answer is %q, want none", got)
	}
	mirrored, err := s.WaitFor(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WaitClosed(ctx, 6); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	written, err := mailtest.ReadJournal(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, messages := range [][]mailtest.Message{mirrored, written} {
		if len(messages) != 2 || messages[0].To[0] != "bruno@acme.example" || messages[1].To[0] != "carla@acme.example" ||
			messages[0].MessageID != "<outbox-1@acme.example>" || messages[0].Event != "1" || len(messages[0].Raw) == 0 {
			t.Errorf("journal = %+v", messages)
		}
	}
}

func TestGreylistingForATime(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{Rules: []mailtest.Rule{
		{Phase: mailtest.Rcpt, PerRecipient: true, For: time.Nanosecond, Reply: "450 4.7.1 Greylisted"},
		{Phase: mailtest.Rcpt, To: "ana@acme.example", Skip: 1, Reply: "550 5.1.1 Unknown"},
	}})
	for i, want := range []string{"450 4.7.1 Greylisted", "", "550 5.1.1 Unknown"} {
		if got := send(s, "ana@acme.example"); got != want {
			t.Errorf("try %d: %q, want %q", i+1, got, want)
		}
	}
}
