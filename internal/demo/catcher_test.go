package demo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/smtp"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"ciclo/internal/demo"
	"ciclo/internal/mail"
)

// caught starts a catcher and the pages, and a pool that sends to it.
func caught(t *testing.T) (*demo.Catcher, http.Handler, func(mail.Message)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	catcher, err := demo.StartCatcher(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(catcher.Close)
	server, err := mail.ParseURL(catcher.URL())
	if err != nil {
		t.Fatal(err)
	}
	pool := mail.NewPool(server, mail.Options{})
	t.Cleanup(pool.Close)
	router := chi.NewRouter()
	catcher.Routes(router)
	return catcher, router, func(m mail.Message) {
		t.Helper()
		conn, err := pool.Get(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
		if out := conn.Send(ctx, m); out.Kind != mail.Delivered {
			t.Fatalf("Send() = %+v", out)
		}
	}
}

func get(t *testing.T, h http.Handler, url string, status int) (string, http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, url, nil))
	if w.Code != status {
		t.Fatalf("GET %s = %d, want %d", url, w.Code, status)
	}
	return w.Body.String(), w.Header()
}

func invitation(id int64) mail.Message {
	return mail.Message{
		ID: id, From: "rh@acme.example", FromName: "Acme Indústria", To: "bruno@acme.example", ToName: "Bruno Sá",
		Subject: "Avaliação de João: responda até 31/10 — " + strings.Repeat("prazo próximo ", 8),
		Text:    "Olá, Bruno.\n\nAbra http://127.0.0.1:8080/r/abc?x=1&y=2. Até 31/10 às 18:00 (GMT−3).\n" + strings.Repeat("ç", 200) + "\n",
		HTML:    `<!doctype html><html><head><title>x</title></head><body><script>alert(1)</script><p style="color:red">Olá</p></body></html>`,
	}
}

func TestWhatWasMailedIsShown(t *testing.T) {
	t.Parallel()
	_, pages, send := caught(t)
	first, second := invitation(1), invitation(2)
	second.To, second.Subject = "joão@acme.example", "<b>Lembrete</b>"
	send(first)
	send(second)

	body, header := get(t, pages, "/dev/mail.json", http.StatusOK)
	var list []struct {
		To, Subject, Text, HTML string
		Headers                 map[string]string
		ReceivedAt              time.Time `json:"received_at"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list) != 2 {
		t.Fatalf("%d messages (%v)", len(list), err)
	}
	if header.Get("Content-Type") != "application/json" {
		t.Errorf("Content-Type = %q", header.Get("Content-Type"))
	}
	if list[0].To != "joão@acme.example" || list[0].Subject != second.Subject {
		t.Errorf("the newest is %+v", list[0])
	}
	old := list[1]
	for _, tt := range []struct{ name, got, want string }{
		{"to", old.To, first.To},
		{"subject", old.Subject, strings.TrimSpace(first.Subject)},
		{"text", old.Text, first.Text},
		{"html", old.HTML, first.HTML},
		{"Message-ID", old.Headers["Message-ID"], "<outbox-1@acme.example>"},
		{"X-Ciclo-Event", old.Headers["X-Ciclo-Event"], "1"},
		{"Subject", old.Headers["Subject"], strings.TrimSpace(first.Subject)},
		{"To", old.Headers["To"], "Bruno Sá <bruno@acme.example>"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	if age := time.Since(old.ReceivedAt); age < 0 || age > time.Minute {
		t.Errorf("received %s ago", age)
	}

	page, header := get(t, pages, "/dev/mail", http.StatusOK)
	if strings.Index(page, "/dev/mail/2?") > strings.Index(page, "/dev/mail/1?") {
		t.Error("the newest is not first")
	}
	for _, want := range []string{`<html lang="pt-BR">`, "&lt;b&gt;Lembrete", "2 de 2"} {
		if !strings.Contains(page, want) {
			t.Errorf("the list lacks %q", want)
		}
	}
	if csp := header.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") || strings.Contains(page, "<script") || strings.Contains(page, "style=") {
		t.Errorf("the list is not strict (%s)", csp)
	}
	if page, _ = get(t, pages, "/dev/mail?lang=en&q=LEMBRETE", http.StatusOK); !strings.Contains(page, "1 of 1") || strings.Contains(page, "/dev/mail/1?") {
		t.Error("the search does not find just the one")
	}
}

func TestOneMessage(t *testing.T) {
	t.Parallel()
	_, pages, send := caught(t)
	send(invitation(1))
	page, header := get(t, pages, "/dev/mail/1?lang=en", http.StatusOK)
	for _, want := range []string{
		`<a href="http://127.0.0.1:8080/r/abc?x=1&amp;y=2" rel="noreferrer">`,
		"Olá, Bruno.", `sandbox="allow-popups allow-popups-to-escape-sandbox"`, `src="/dev/mail/1/html"`, "Text part",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "alert(1)") {
		t.Error("the HTML part is in the page itself")
	}
	if !strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("CSP = %s", header.Get("Content-Security-Policy"))
	}
	frame, header := get(t, pages, "/dev/mail/1/html", http.StatusOK)
	if !strings.Contains(frame, `<head><base target="_blank">`) {
		t.Errorf("links would open in the frame: %s", frame)
	}
	for _, want := range []string{"default-src 'none'", "sandbox allow-popups", "frame-ancestors 'self'"} {
		if !strings.Contains(header.Get("Content-Security-Policy"), want) {
			t.Errorf("the frame's CSP lacks %q", want)
		}
	}
	for _, gone := range []string{"/dev/mail/2", "/dev/mail/0", "/dev/mail/-1", "/dev/mail/x", "/dev/mail/99999999999999999999"} {
		if page, _ := get(t, pages, gone, http.StatusNotFound); !strings.Contains(page, "5.000") {
			t.Errorf("GET %s does not say why", gone)
		}
		get(t, pages, gone+"/html", http.StatusNotFound)
	}
}

func TestNothingMailedYet(t *testing.T) {
	t.Parallel()
	_, pages, _ := caught(t)
	if body, _ := get(t, pages, "/dev/mail.json", http.StatusOK); body != "[]\n" {
		t.Errorf("JSON = %s, want []", body)
	}
	if page, _ := get(t, pages, "/dev/mail", http.StatusOK); !strings.Contains(page, "Nenhuma mensagem") {
		t.Error("the empty list says nothing")
	}
}

func TestOtherWaysOfWritingAMessage(t *testing.T) {
	t.Parallel()
	catcher, _, _ := caught(t)
	for _, tt := range []struct{ name, raw, subject, text, html string }{
		{"base64 and Latin-1", "Subject: =?iso-8859-1?Q?Avalia=E7=E3o?=\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: base64\r\n\r\nT2zhLCBKb+Nv\r\n", "Avaliação", "Olá, João", ""},
		{"HTML alone", "Subject: a\r\nContent-Type: text/html\r\n\r\n<p>b</p>\r\n", "a", "", "<p>b</p>\n"},
		{"no header at all", "\r\nonly a body\r\n", "", "only a body\n", ""},
		{"a multipart that breaks off", "Subject: c\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nhalf", "", "Subject: c", ""},
		{"nested, with an attachment", "Subject: d\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: multipart/alternative; boundary=y\r\n\r\n--y\r\n\r\ntext\r\n--y\r\nContent-Type: text/html\r\n\r\nhtml\r\n--y--\r\n--x\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=a\r\n\r\nattached\r\n--x--\r\n", "d", "text", "html"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := strings.TrimPrefix(catcher.URL(), "smtp://")
			if err := smtp.SendMail(addr, nil, "a@acme.example", []string{"b@acme.example"}, []byte(tt.raw)); err != nil {
				t.Fatal(err)
			}
			m := catcher.Messages()[0]
			if m.Subject != tt.subject || !strings.HasPrefix(m.Text, tt.text) || m.HTML != tt.html || m.To != "b@acme.example" {
				t.Errorf("caught %+v", m)
			}
		})
	}
}

func TestOnlyTheNewestAreKept(t *testing.T) {
	t.Parallel()
	catcher, pages, _ := caught(t)
	for id := range 5003 {
		catcher.Keep(demo.Mail{Subject: fmt.Sprintf("message %d.", id+1)})
	}
	messages := catcher.Messages()
	if len(messages) != 5000 || messages[0].Subject != "message 5003." || messages[4999].Subject != "message 4." {
		t.Fatalf("%d kept, from %q to %q", len(messages), messages[0].Subject, messages[len(messages)-1].Subject)
	}
	get(t, pages, "/dev/mail/3", http.StatusNotFound)
	if page, _ := get(t, pages, "/dev/mail/4", http.StatusOK); !strings.Contains(page, "message 4.") {
		t.Error("message 4 is not the fourth")
	}
	if page, _ := get(t, pages, "/dev/mail", http.StatusOK); !strings.Contains(page, "200 de 5.000") {
		t.Error("the list does not say how many there are")
	}
}

func TestTheCatcherEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	catcher, err := demo.StartCatcher(ctx)
	if err != nil {
		t.Fatal(err)
	}
	addr := strings.TrimPrefix(catcher.URL(), "smtp://")
	client, err := smtp.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	// The server closes open connections, so that this read ends by itself.
	if err := client.Noop(); err == nil {
		_, _, err = client.Text.ReadResponse(0)
		if err == nil {
			t.Error("the connection goes on")
		}
	}
	catcher.Close()
}
