package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// plain is a browser without script: it follows links, fills the forms that the
// pages really hold, and sends them as a browser would. A field that is not on
// the page cannot be filled.
type plain struct {
	t      *testing.T
	base   string
	client *http.Client
	status int
	at     *url.URL
	page   *html.Node
}

func newPlain(t *testing.T, base string) *plain {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &plain{t: t, base: base, client: &http.Client{Jar: jar, Timeout: time.Minute}}
}

// open goes to a path or an address and follows where it leads.
func (p *plain) open(path string) *plain {
	p.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = p.base + path
	}
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.send(req)
}

func (p *plain) send(req *http.Request) *plain {
	p.t.Helper()
	resp, err := p.client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	if p.page, err = html.ParseWithOptions(resp.Body, html.ParseOptionEnableScripting(false)); err != nil {
		p.t.Fatal(err)
	}
	p.status, p.at = resp.StatusCode, resp.Request.URL
	if p.status >= http.StatusInternalServerError {
		p.t.Fatalf("%s %s: %d\n%s", req.Method, req.URL.Path, p.status, p.text())
	}
	return p
}

// sees fails the test unless the page holds these words.
func (p *plain) sees(texts ...string) *plain {
	p.t.Helper()
	shows := p.text()
	for _, text := range texts {
		if !strings.Contains(shows, text) {
			p.t.Fatalf("%s (%d) does not say %q:\n%s", p.at.Path, p.status, text, shows)
		}
	}
	return p
}

func (p *plain) text() string { return words(p.page) }

// follow takes the link that says this.
func (p *plain) follow(text string) *plain {
	p.t.Helper()
	for a := range p.page.Descendants() {
		if a.Type == html.ElementNode && a.Data == "a" && said(a) == text {
			to, err := p.at.Parse(attr(a, "href"))
			if err != nil {
				p.t.Fatal(err)
			}
			return p.open(to.String())
		}
	}
	p.t.Fatalf("%s has no link %q:\n%s", p.at.Path, text, p.text())
	return nil
}

// press fills the form whose button says this, and presses it. Pairs of names
// and values replace what the form holds; a file is given as "@name".
func (p *plain) press(button string, pairs ...string) *plain {
	p.t.Helper()
	return p.send(p.pressed(button, pairs...))
}

// pressUnheard is press by somebody whose connection breaks.
func (p *plain) pressUnheard(button string, pairs ...string) {
	p.t.Helper()
	if resp, err := p.client.Do(p.pressed(button, pairs...)); err == nil {
		resp.Body.Close()
	}
}

func (p *plain) pressed(button string, pairs ...string) *http.Request {
	p.t.Helper()
	form, pressed := p.form(button)
	if form == nil {
		p.t.Fatalf("%s (%d) has no button %q in a form:\n%s", p.at.Path, p.status, button, p.text())
	}
	values, fields := filled(form)
	if name := attr(pressed, "name"); name != "" {
		values.Set(name, attr(pressed, "value"))
	}
	files := map[string]string{}
	given := map[string]bool{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, value := pairs[i], pairs[i+1]
		if !fields[name] {
			p.t.Fatalf("the form of %q on %s has no field %q: %v", button, p.at.Path, name, fields)
		}
		if file, ok := strings.CutPrefix(value, "@"); ok {
			files[name] = file
			continue
		}
		if !given[name] {
			values.Del(name)
			given[name] = true
		}
		values.Add(name, value)
	}
	action := attr(form, "action")
	if a := attr(pressed, "formaction"); a != "" {
		action = a
	}
	to, err := p.at.Parse(action)
	if err != nil {
		p.t.Fatal(err)
	}
	if !strings.EqualFold(attr(form, "method"), "post") {
		to.RawQuery = values.Encode()
		req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, to.String(), nil)
		if err != nil {
			p.t.Fatal(err)
		}
		return req
	}
	body, mediaType := encoded(p.t, form, values, files)
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, to.String(), body)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", mediaType)
	req.Header.Set("Origin", p.base) // and no Sec-Fetch-Site, as old browsers and plain http have it
	return req
}

// form finds the form that a button belongs to: around it, or by its attribute.
func (p *plain) form(button string) (form, pressed *html.Node) {
	for b := range p.page.Descendants() {
		if b.Type != html.ElementNode || b.Data != "button" || said(b) != button && attr(b, "aria-label") != button {
			continue
		}
		if inside(b, "dialog") || attr(b, "type") == "button" {
			continue // no script opens it
		}
		if id := attr(b, "form"); id != "" {
			for f := range p.page.Descendants() {
				if f.Data == "form" && attr(f, "id") == id {
					return f, b
				}
			}
		}
		for f := b.Parent; f != nil; f = f.Parent {
			if f.Data == "form" {
				return f, b
			}
		}
	}
	return nil, nil
}

func inside(n *html.Node, tag string) bool {
	for ; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && n.Data == tag {
			return true
		}
	}
	return false
}

// filled are the values that a form holds as it stands, and the names it has.
func filled(form *html.Node) (url.Values, map[string]bool) {
	values, fields := url.Values{}, map[string]bool{}
	for n := range form.Descendants() {
		name := attr(n, "name")
		if n.Type != html.ElementNode || name == "" || has(n, "disabled") {
			continue
		}
		switch n.Data {
		case "input":
			fields[name] = true
			switch attr(n, "type") {
			case "checkbox", "radio":
				if has(n, "checked") {
					values.Add(name, attr(n, "value"))
				}
			case "file", "submit":
			default:
				values.Add(name, attr(n, "value"))
			}
		case "textarea":
			fields[name] = true
			values.Add(name, strings.TrimPrefix(raw(n), "\n"))
		case "select":
			fields[name] = true
			first := true
			for o := range n.Descendants() {
				if o.Data == "option" && (first || has(o, "selected")) {
					value := attr(o, "value")
					if !has(o, "value") {
						value = said(o)
					}
					values.Set(name, value)
					first = false
				}
			}
		}
	}
	return values, fields
}

func encoded(t *testing.T, form *html.Node, values url.Values, files map[string]string) (io.Reader, string) {
	t.Helper()
	if attr(form, "enctype") != "multipart/form-data" {
		if len(files) > 0 {
			t.Fatal("a form for a file must be multipart/form-data")
		}
		return strings.NewReader(values.Encode()), "application/x-www-form-urlencoded"
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, all := range values {
		for _, v := range all {
			if err := w.WriteField(name, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, file := range files {
		b, err := os.ReadFile(filepath.Join("..", "testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		part, err := w.CreateFormFile(name, file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &body, w.FormDataContentType()
}

// fields are the names of the form behind a button that begin like this.
func (p *plain) fields(button, prefix string) []*html.Node {
	p.t.Helper()
	form, _ := p.form(button)
	if form == nil {
		p.t.Fatalf("%s (%d) has no button %q in a form:\n%s", p.at.Path, p.status, button, p.text())
	}
	var found []*html.Node
	for n := range form.Descendants() {
		if n.Type == html.ElementNode && strings.HasPrefix(attr(n, "name"), prefix) {
			found = append(found, n)
		}
	}
	return found
}

// signIn goes in by the front door.
func (p *plain) signIn(email string) *plain {
	p.t.Helper()
	p.open("/login").press("Entrar", "email", email, "password", password)
	if p.at.Path != "/" {
		p.t.Fatalf("signing in leads to %s:\n%s", p.at.Path, p.text())
	}
	return p
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

func said(n *html.Node) string { return words(n) }

// whole is a page with its dialogs, as if they were all open.
func whole(n *html.Node) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == "dialog" {
			d.Data = "div"
		}
	}
	return n
}

// words are what an element says, without script, style and templates.
func words(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data + " ")
		case n.Type == html.ElementNode && (n.Data == "script" || n.Data == "style" || n.Data == "template" || n.Data == "dialog"):
			return
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return strings.Join(strings.Fields(b.String()), " ")
}

func raw(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// letter is a mail as /dev/mail.json tells of it.
type letter struct {
	ID      int64             `json:"id"`
	To      string            `json:"to"`
	Subject string            `json:"subject"`
	Text    string            `json:"text"`
	HTML    string            `json:"html"`
	Headers map[string]string `json:"headers"`
}

// letters are what the demo has mailed, the newest first; q narrows it down.
func letters(t *testing.T, base, q string) []letter {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/dev/mail.json?q="+url.QueryEscape(q), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var all []letter
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}
