package mail_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"ciclo/internal/mail"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url      string
		addr     string
		user     string
		implicit bool
		loopback bool
	}{
		{"smtp://mail.example.com", "mail.example.com:587", "", false, false},
		{"smtps://mail.example.com", "mail.example.com:465", "", true, false},
		{"smtp://ciclo:p%40ss%2Fword@mail.example.com:2525", "mail.example.com:2525", "ciclo", false, false},
		{"smtp://rh%40acme.example:x@mail.example.com", "mail.example.com:587", "rh@acme.example", false, false},
		{"smtp://127.0.0.1:1025", "127.0.0.1:1025", "", false, true},
		{"smtp://[::1]:1025/", "[::1]:1025", "", false, true},
		{"smtp://localhost:25?helo=app.example.com", "localhost:25", "", false, true},
	} {
		t.Run(tt.url, func(t *testing.T) {
			s, err := mail.ParseURL(tt.url)
			if err != nil {
				t.Fatal(err)
			}
			if s.Addr() != tt.addr || s.User != tt.user || s.ImplicitTLS != tt.implicit || s.Loopback() != tt.loopback {
				t.Errorf("ParseURL() = %+v (loopback %t)", s, s.Loopback())
			}
		})
	}
}

func TestAWrongURLIsNamedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ url, word string }{
		{"", "smtp://"},
		{"mail.example.com:25", "smtp"},
		{"http://u:hunter2@mail.example.com", "smtp://"},
		{"smtp://u:hunter2@", "no host"},
		{"smtp://u:hunter2@mail.example.com:99999", "port"},
		{"smtp://u:hunter2@mail.example.com:abc", "not a URL"},
		{"smtp://u:hunter2/x@mail.example.com", ""},
		{"smtp://u:hunter2#x@mail.example.com", ""},
		{"smtp://u:hunter2?x@mail.example.com", ""},
		{"smtp://u:hunter2%zz@mail.example.com", "percent-encoded"},
		{"smtp://u:hunter2 @mail.example.com\x7f", "percent-encoded"},
		{"smtp://u:hunter2@mail.example.com/inbox", "percent-encoded"},
		{"smtp://u@mail.example.com", "user and password"},
		{"smtp://:hunter2@mail.example.com", "user and password"},
		{"smtp://u:hunter2%0D%0AQUIT@mail.example.com", "line end"},
		{"smtp://u:hunter2@mail.example.com?tls=off", "loopback"},
		{"smtp://u:hunter2@mail.example.com?helo=a%0D%0Ab", "host name"},
		{"smtp://u:hunter2@mail.example.com?insecure=1", "option"},
	} {
		t.Run(tt.url, func(t *testing.T) {
			_, err := mail.ParseURL(tt.url)
			if err == nil || !strings.Contains(err.Error(), tt.word) {
				t.Fatalf("ParseURL() = %v, want something about %q", err, tt.word)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the password is in %q", err)
			}
		})
	}
}

func TestAServerNeverPrintsItsPassword(t *testing.T) {
	t.Parallel()
	s, err := mail.ParseURL("smtp://ciclo:hunter2@mail.example.com")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("mail", "server", s)
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%+v", s), fmt.Sprintf("%#v", s), fmt.Sprintf("%v", &s), fmt.Sprintf("%+v", struct{ S mail.Server }{s}), log.String()} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("the password is in %q", text)
		}
	}
}
