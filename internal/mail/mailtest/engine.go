package mailtest

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"io"
	"net"
	"net/mail"
	"net/textproto"
	"strings"
	"sync"
	"time"
)

// engine is the server itself, without a process or a test around it.
type engine struct {
	script      Script
	rules       rulebook
	journal     *journal
	certificate tls.Certificate
	certPEM     []byte
	listener    net.Listener
	wg          sync.WaitGroup

	mu      sync.Mutex
	conns   map[net.Conn]struct{}
	stopped bool
}

// startEngine listens on a free port of 127.0.0.1.
func startEngine(script Script, j *journal) (*engine, error) {
	e := &engine{script: script, journal: j, conns: map[net.Conn]struct{}{}}
	e.rules.replace(script.Rules)
	var err error
	if e.certificate, e.certPEM, err = selfSigned(); err != nil {
		return nil, err
	}
	if e.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	e.wg.Go(e.accept)
	return e, nil
}

// stop ends everything at once, as a machine that goes down would.
func (e *engine) stop() {
	e.mu.Lock()
	e.stopped = true
	for conn := range e.conns {
		_ = conn.Close()
	}
	e.mu.Unlock()
	_ = e.listener.Close()
	e.wg.Wait()
}

func (e *engine) accept() {
	for {
		raw, err := e.listener.Accept()
		if err != nil {
			return
		}
		e.mu.Lock()
		if e.stopped {
			e.mu.Unlock()
			_ = raw.Close()
			return
		}
		e.conns[raw] = struct{}{}
		crowded := e.script.MaxConnections > 0 && len(e.conns) > e.script.MaxConnections
		e.mu.Unlock()
		e.wg.Go(func() {
			c := &conversation{engine: e, raw: raw, conn: raw}
			e.journal.note(func() { e.journal.opened++; c.number = e.journal.opened })
			c.run(crowded)
			_ = raw.Close()
			e.leave(raw)
			e.journal.note(func() { e.journal.closed++ })
		})
	}
}

// leave stops counting a connection.
func (e *engine) leave(raw net.Conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.conns, raw)
}

// conversation is one client's connection.
type conversation struct {
	engine *engine
	number int
	raw    net.Conn
	conn   net.Conn // raw, or TLS over it
	lines  *textproto.Reader
	user   string
	from   string
	utf8   bool
	to     []string
	taken  int
	over   bool
}

func (c *conversation) run(crowded bool) {
	if c.engine.script.TLS == "implicit" && !c.secure() {
		return
	}
	c.lines = textproto.NewReader(bufio.NewReader(c.conn))
	if crowded {
		c.reply("421 4.7.0 Too many connections")
		return
	}
	if !c.faulty(Connect) {
		c.reply("220 mailtest ESMTP")
	}
	for !c.over {
		line, err := c.lines.ReadLine()
		if err != nil {
			return
		}
		verb, argument, _ := strings.Cut(line, " ")
		verb = strings.ToUpper(verb)
		c.engine.journal.note(func() { c.engine.journal.verbs = append(c.engine.journal.verbs, verb) })
		c.obey(verb, argument)
	}
}

// obey answers one command.
func (c *conversation) obey(verb, argument string) {
	switch verb {
	case "EHLO", "HELO":
		if !c.faulty(Ehlo) {
			c.reply(c.extensions())
		}
	case "STARTTLS":
		if !c.faulty(StartTLS) {
			c.reply("220 2.0.0 Go ahead")
			if c.over = !c.secure(); !c.over {
				c.lines = textproto.NewReader(bufio.NewReader(c.conn))
			}
		}
	case "AUTH":
		if !c.faulty(Auth) {
			c.signIn(argument)
		}
	case "MAIL":
		c.mail(argument)
	case "RCPT":
		c.rcpt(argument)
	case "DATA":
		c.data()
	case "RSET":
		c.from, c.to = "", nil
		if !c.faulty(Rset) {
			c.reply("250 2.0.0 Reset")
		}
	case "NOOP":
		if !c.faulty(Noop) {
			c.reply("250 2.0.0 Here")
		}
	case "QUIT":
		// Before the answer, or a client that dials as soon as it has it would be
		// counted twice.
		c.engine.leave(c.raw)
		if !c.faulty(Quit) {
			c.reply("221 2.0.0 Bye")
		}
		c.over = true
	default:
		c.reply("500 5.5.2 Unknown command")
	}
}

func (c *conversation) extensions() string {
	script := c.engine.script
	lines := []string{"250 mailtest", "8BITMIME", "ENHANCEDSTATUSCODES"}
	if !script.NoSMTPUTF8 {
		lines = append(lines, "SMTPUTF8")
	}
	_, encrypted := c.conn.(*tls.Conn)
	if script.TLS == "starttls" && !encrypted {
		lines = append(lines, "STARTTLS")
	}
	if len(script.Users) > 0 && (encrypted || script.TLS == "") {
		mechanisms := script.Mechanisms
		if len(mechanisms) == 0 {
			mechanisms = []string{"PLAIN", "LOGIN"}
		}
		lines = append(lines, "AUTH "+strings.Join(mechanisms, " "))
	}
	return strings.Join(lines, "\n")
}

func (c *conversation) secure() bool {
	secure := tls.Server(c.raw, &tls.Config{Certificates: []tls.Certificate{c.engine.certificate}})
	if secure.Handshake() != nil {
		return false
	}
	c.conn = secure
	return true
}

// signIn speaks PLAIN and LOGIN.
func (c *conversation) signIn(argument string) {
	mechanism, initial, _ := strings.Cut(argument, " ")
	var user, password string
	switch strings.ToUpper(mechanism) {
	case "PLAIN":
		if parts := bytes.Split(decode(initial), []byte{0}); len(parts) == 3 {
			user, password = string(parts[1]), string(parts[2])
		}
	case "LOGIN":
		user, password = c.ask("Username:"), c.ask("Password:")
	default:
		c.reply("504 5.5.4 Unknown mechanism")
		return
	}
	if want, known := c.engine.script.Users[user]; !known || want != password {
		c.reply("535 5.7.8 Authentication credentials invalid")
		return
	}
	c.user = user
	c.reply("235 2.7.0 Welcome")
}

func (c *conversation) ask(question string) string {
	c.reply("334 " + base64.StdEncoding.EncodeToString([]byte(question)))
	answer, err := c.lines.ReadLine()
	if err != nil {
		c.over = true
	}
	return string(decode(answer))
}

func decode(s string) []byte {
	b, _ := base64.StdEncoding.DecodeString(s)
	return b
}

func (c *conversation) mail(argument string) {
	c.from, c.to = path(argument), nil
	c.utf8 = strings.Contains(strings.ToUpper(argument), " SMTPUTF8")
	limit := c.engine.script.MaxPerConnection
	switch {
	case limit > 0 && c.taken >= limit:
		c.reply("421 4.7.0 Too many messages on this connection")
		c.over = true
	case c.faulty(Mail):
	case len(c.engine.script.Users) > 0 && c.user == "":
		c.reply("530 5.7.0 Authentication required")
	default:
		c.reply("250 2.1.0 Sender ok")
	}
}

func (c *conversation) rcpt(argument string) {
	to := path(argument)
	c.to = append(c.to, to)
	if c.faulty(Rcpt) {
		c.to = c.to[:len(c.to)-1]
		return
	}
	c.reply("250 2.1.5 Recipient ok")
}

func (c *conversation) data() {
	if len(c.to) == 0 {
		c.reply("503 5.5.1 Recipient first")
		return
	}
	if c.faulty(Data) {
		return
	}
	c.reply("354 Go ahead")
	if c.faulty(Body) && c.over {
		return
	}
	raw, err := io.ReadAll(c.lines.DotReader())
	if err != nil {
		c.over = true
		return
	}
	rule, found := c.engine.rules.match(End, c.from, c.recipient(), time.Now())
	if found && rule.Act != AcceptDrop {
		c.act(rule)
		return
	}
	if err := c.engine.journal.accept(c.message(raw)); err != nil {
		c.reply("451 4.3.0 The journal cannot be written")
		return
	}
	if found {
		c.over = true
		return
	}
	if wait := c.engine.script.Latency; wait > 0 {
		<-time.After(wait)
	}
	c.taken++
	c.reply("250 2.0.0 Accepted")
}

func (c *conversation) message(raw []byte) Message {
	_, encrypted := c.conn.(*tls.Conn)
	m := Message{
		From: c.from, To: append([]string(nil), c.to...), Raw: raw, At: time.Now(),
		Conn: c.number, TLS: encrypted, User: c.user, UTF8: c.utf8,
	}
	if parsed, err := mail.ReadMessage(bytes.NewReader(raw)); err == nil {
		m.MessageID, m.Event = parsed.Header.Get("Message-ID"), parsed.Header.Get("X-Ciclo-Event")
	}
	return m
}

func (c *conversation) recipient() string {
	if len(c.to) == 0 {
		return ""
	}
	return c.to[len(c.to)-1]
}

// faulty applies the rule for this moment, if there is one, and reports so.
func (c *conversation) faulty(phase Phase) bool {
	rule, found := c.engine.rules.match(phase, c.from, c.recipient(), time.Now())
	if found {
		c.act(rule)
	}
	return found
}

func (c *conversation) act(rule Rule) {
	switch rule.Act {
	case Stall:
		_, _ = io.Copy(io.Discard, c.conn)
		c.over = true
	default:
		if rule.Reply != "" {
			c.reply(rule.Reply)
		}
		if rule.Act == Drop {
			c.over = true
		}
	}
}

// reply writes "250 first\nsecond" as the lines 250-first and 250 second.
func (c *conversation) reply(text string) {
	code, rest, coded := strings.Cut(text, " ")
	if !coded {
		code, rest = text, ""
	}
	lines := strings.Split(rest, "\n")
	var out strings.Builder
	for i, line := range lines {
		mark := "-"
		if i == len(lines)-1 {
			mark = " "
		}
		out.WriteString(code + mark + line + "\r\n")
	}
	if _, err := io.WriteString(c.conn, out.String()); err != nil {
		c.over = true
	}
	if code == "421" {
		c.over = true
	}
}

// path takes the address out of FROM:<a@b> BODY=8BITMIME.
func path(argument string) string {
	_, rest, _ := strings.Cut(argument, "<")
	address, _, _ := strings.Cut(rest, ">")
	return address
}
