package demo

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"regexp"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
)

// decode reads a message: its header with encoded words, and the first text and
// the first HTML part, out of whatever they are wrapped in.
func decode(r io.Reader) (Mail, error) {
	var m Mail
	whole, err := io.ReadAll(r)
	if err != nil {
		return m, err
	}
	msg, err := mail.ReadMessage(strings.NewReader(string(whole)))
	if err != nil {
		return m, err
	}
	m.Headers = spelt(string(whole), msg.Header)
	m.Subject = word(msg.Header.Get("Subject"))
	m.From = word(msg.Header.Get("From"))
	if err := m.open(textproto.MIMEHeader(msg.Header), msg.Body, 0); err != nil {
		return m, err
	}
	return m, nil
}

// open looks into one part; a multipart is opened to a sane depth.
func (m *Mail) open(header textproto.MIMEHeader, body io.Reader, depth int) error {
	kind, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		kind, params = "text/plain", nil
	}
	if strings.HasPrefix(kind, "multipart/") && depth < 10 {
		parts := multipart.NewReader(body, params["boundary"])
		for {
			part, err := parts.NextRawPart()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read a part: %w", err)
			}
			if err := m.open(part.Header, part, depth+1); err != nil {
				return err
			}
		}
	}
	attached, _, _ := mime.ParseMediaType(header.Get("Content-Disposition"))
	if attached == "attachment" {
		return nil
	}
	into := map[string]*string{"text/plain": &m.Text, "text/html": &m.HTML}[kind]
	if into == nil || *into != "" {
		return nil
	}
	text, err := io.ReadAll(charset(params["charset"], unwrap(header.Get("Content-Transfer-Encoding"), body)))
	if err != nil {
		return fmt.Errorf("decode a part: %w", err)
	}
	*into = strings.ToValidUTF8(strings.ReplaceAll(string(text), "\r\n", "\n"), "\uFFFD")
	return nil
}

// unwrap undoes a transfer encoding.
func unwrap(encoding string, body io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "quoted-printable":
		return quotedprintable.NewReader(body)
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, body)
	}
	return body
}

// charset turns text into UTF-8; an unknown one is taken as it is.
func charset(name string, r io.Reader) io.Reader {
	if name == "" {
		return r
	}
	encoding, err := htmlindex.Get(name)
	if err != nil {
		return r
	}
	return encoding.NewDecoder().Reader(r)
}

// word decodes the encoded words of a header, or leaves it as it came.
func word(s string) string {
	words := mime.WordDecoder{CharsetReader: func(name string, r io.Reader) (io.Reader, error) {
		return charset(name, r), nil
	}}
	if decoded, err := words.DecodeHeader(s); err == nil {
		s = decoded
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// spelt gives the headers under the names that the message uses: Go's reader
// would turn Message-ID into Message-Id. Repeated ones stand on lines.
func spelt(raw string, header mail.Header) map[string]string {
	headers := make(map[string]string, len(header))
	lines := bufio.NewScanner(strings.NewReader(raw))
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			break
		}
		name, _, found := strings.Cut(line, ":")
		if !found || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			continue
		}
		values := header[textproto.CanonicalMIMEHeaderKey(name)]
		decoded := make([]string, len(values))
		for i, v := range values {
			decoded[i] = word(v)
		}
		headers[name] = strings.Join(decoded, "\n")
	}
	return headers
}

var address = regexp.MustCompile(`https?://[^\s<>"]+`)

// links are the addresses in a text, once each, in their order.
func links(text string) []string {
	var found []string
	seen := map[string]bool{}
	for _, url := range address.FindAllString(text, -1) {
		url = strings.TrimRight(url, ".,;:!?)]}'")
		if !seen[url] {
			seen[url] = true
			found = append(found, url)
		}
	}
	return found
}
