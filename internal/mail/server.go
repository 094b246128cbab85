package mail

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Server is where mail is handed over, as SMTP_URL says it. However it is
// printed, it does not show the password.
type Server struct {
	Host string
	Port int
	User string // empty: no sign-in
	// ImplicitTLS: the connection starts encrypted (smtps). Otherwise STARTTLS
	// is required, unless the server is this very machine.
	ImplicitTLS bool
	// RequireTLS asks for STARTTLS on loopback too (?tls=required).
	RequireTLS bool
	// Helo is the name we greet with; empty means this machine's (?helo=).
	Helo string

	password string
}

// ParseURL reads smtp://user:password@host:587 or smtps://user:password@host:465.
// The options are helo=NAME and tls=required. Its errors never quote the
// address, because a password may be anywhere in a mistyped one.
func ParseURL(raw string) (Server, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return Server{}, errors.New("SMTP_URL is not a URL; special characters in the password must be percent-encoded (@ is %40, / is %2F, # is %23)")
	}
	server := Server{Host: u.Hostname(), Port: 587}
	switch u.Scheme {
	case "smtp":
	case "smtps":
		server.ImplicitTLS, server.Port = true, 465
	default:
		return Server{}, errors.New("SMTP_URL must begin with smtp:// or smtps://")
	}
	switch {
	case server.Host == "":
		return Server{}, errors.New("SMTP_URL names no host")
	case u.Path != "" && u.Path != "/", u.Fragment != "":
		return Server{}, errors.New("SMTP_URL goes on after the host and port; a / or # in the password must be percent-encoded (%2F, %23)")
	}
	if port := u.Port(); port != "" {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return Server{}, errors.New("SMTP_URL has a port that is not between 1 and 65535")
		}
		server.Port = n
	}
	if u.User != nil {
		password, given := u.User.Password()
		server.User, server.password = u.User.Username(), password
		if server.User == "" || !given || password == "" {
			return Server{}, errors.New("SMTP_URL has only one of user and password")
		}
		if strings.ContainsAny(server.User+password, "\x00\r\n") {
			return Server{}, errors.New("SMTP_URL has a line end or NUL in its user or password")
		}
	}
	return server, server.readOptions(u.RawQuery)
}

// readOptions reads what follows the question mark; an unknown option is refused
// rather than ignored, because a mistyped one would pass for one that works.
func (s *Server) readOptions(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return errors.New("SMTP_URL has options that cannot be read after its ?")
	}
	for name := range query {
		value := query.Get(name)
		switch {
		case name == "helo" && isHostname(value):
			s.Helo = value
		case name == "helo":
			return errors.New("SMTP_URL has a helo that is not a host name")
		case name == "tls" && value == "required":
			s.RequireTLS = true
		case name == "tls":
			return errors.New("SMTP_URL has a tls option other than required; TLS can only be left out on loopback")
		default:
			return errors.New("SMTP_URL has an option other than helo and tls; a ? in the password must be percent-encoded (%3F)")
		}
	}
	return nil
}

// Loopback reports whether the server is this very machine, the only one that
// may be spoken to without TLS.
func (s Server) Loopback() bool {
	if strings.EqualFold(s.Host, "localhost") {
		return true
	}
	ip := net.ParseIP(s.Host)
	return ip != nil && ip.IsLoopback()
}

// Addr is host:port.
func (s Server) Addr() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// String shows the server without its password.
func (s Server) String() string {
	scheme, user := "smtp", ""
	if s.ImplicitTLS {
		scheme = "smtps"
	}
	if s.User != "" {
		user = url.User(s.User).String() + ":***@"
	}
	return fmt.Sprintf("%s://%s%s", scheme, user, s.Addr())
}

// GoString keeps %#v from showing the password.
func (s Server) GoString() string { return s.String() }

// LogValue keeps the password, and the user's name, out of logs.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.Addr()) }

// isHostname reports whether s can stand in EHLO: letters, digits, dots, hyphens,
// or an address literal.
func isHostname(s string) bool {
	if s == "" || len(s) > 255 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-[]:", r))
	}) < 0
}
