package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/links"
	smtp "ciclo/internal/mail"
)

// variables are the settings as they stand in the environment: each with its
// default, and its meaning for --help.
type variables struct {
	DatabaseURL        string `env:"DATABASE_URL" about:"PostgreSQL 15 or newer, as postgres://user:password@host:5432/database"`
	BaseURL            string `env:"BASE_URL" about:"where people reach this; links in messages begin with it"`
	Listen             string `env:"LISTEN" envDefault:"127.0.0.1:8080" about:"address and port to serve on"`
	SecretKeys         string `env:"SECRET_KEYS" about:"keys of review links, as kid:base64,…; the first signs, all verify (ciclo config key makes one)"`
	SecretKeysFile     string `env:"SECRET_KEYS_FILE" about:"a file that holds SECRET_KEYS instead"`
	SMTPURL            string `env:"SMTP_URL" about:"the mail server, as smtp://user:password@host:587 or smtps://…:465"`
	SMTPMaxConnections string `env:"SMTP_MAX_CONNECTIONS" envDefault:"8" about:"connections to it that one process keeps at most"`
	MailFrom           string `env:"MAIL_FROM" about:"the sender's address"`
	TrustedProxies     string `env:"TRUSTED_PROXIES" about:"addresses or networks whose X-Forwarded-For is believed, separated by commas"`
	Migrate            string `env:"MIGRATE" envDefault:"0" about:"1: serve and work migrate the database before they start"`
	OTLPEndpoint       string `env:"OTEL_EXPORTER_OTLP_ENDPOINT" about:"collector for traces and metrics (OTLP over HTTP); the other OTEL_ variables apply too"`
	LogFormat          string `env:"LOG_FORMAT" envDefault:"auto" about:"json, text, or auto: text on a terminal"`
}

// config is the same, read and checked.
type config struct {
	DatabaseURL        string
	BaseURL            *url.URL
	Listen             string
	Keys               links.Ring
	SMTP               smtp.Server
	SMTPMaxConnections int
	MailFrom           mail.Address
	TrustedProxies     []netip.Prefix
	Migrate            bool
	OTLPEndpoint       string
	LogFormat          string
}

// exampleKey stands in .env.example to show the form. It is public.
const exampleKey = "Y2ljbG8gZXhhbXBsZSBrZXksIGRvIG5vdCB1c2UgaXQ="

// settingsError lists every wrong setting, so that one start is enough to see
// them all.
type settingsError struct{ problems []string }

func (e *settingsError) Error() string {
	return "these settings are wrong or missing:\n  " + strings.Join(e.problems, "\n  ")
}

// loadConfig reads the environment. It refuses a setting that is malformed, and
// one that is required and empty.
func loadConfig(required ...string) (config, error) {
	v, err := env.ParseAs[variables]()
	if err != nil {
		return config{}, fmt.Errorf("read the environment: %w", err)
	}
	v.setDefaults()
	r := reading{}
	c := config{
		DatabaseURL:        read(&r, "DATABASE_URL", v.DatabaseURL, databaseURL),
		BaseURL:            read(&r, "BASE_URL", v.BaseURL, baseURL),
		Listen:             read(&r, "LISTEN", v.Listen, listenAddress),
		Keys:               read(&r, "SECRET_KEYS", r.fromFile("SECRET_KEYS_FILE", v.SecretKeys, v.SecretKeysFile), keyRing),
		SMTP:               read(&r, "SMTP_URL", v.SMTPURL, smtpServer),
		SMTPMaxConnections: read(&r, "SMTP_MAX_CONNECTIONS", v.SMTPMaxConnections, between(1, 100)),
		MailFrom:           read(&r, "MAIL_FROM", v.MailFrom, mailAddress),
		TrustedProxies:     read(&r, "TRUSTED_PROXIES", v.TrustedProxies, networks),
		Migrate:            read(&r, "MIGRATE", v.Migrate, yesOrNo),
		OTLPEndpoint:       read(&r, "OTEL_EXPORTER_OTLP_ENDPOINT", v.OTLPEndpoint, webAddress),
		LogFormat:          read(&r, "LOG_FORMAT", v.LogFormat, oneOf("auto", "json", "text")),
	}
	for _, name := range required {
		if !r.given[name] {
			r.problem(name, "is not set: "+about(name))
		}
	}
	if len(r.problems) > 0 {
		return config{}, &settingsError{r.problems}
	}
	return c, nil
}

// What the commands cannot do without; work needs what serve needs.
var (
	toMigrate = []string{"DATABASE_URL"}
	toServe   = []string{"DATABASE_URL", "BASE_URL", "SECRET_KEYS", "SMTP_URL", "MAIL_FROM"}
)

// reading collects what is wrong while the settings are read.
type reading struct {
	given    map[string]bool
	problems []string
}

func (r *reading) problem(name, what string) {
	r.problems = append(r.problems, name+" "+what)
}

// read turns one setting into its value; an empty one stays zero.
func read[T any](r *reading, name, raw string, parse func(string) (T, error)) (value T) {
	if raw == "" {
		return value
	}
	if r.given == nil {
		r.given = map[string]bool{}
	}
	r.given[name] = true
	value, err := parse(raw)
	if err != nil {
		r.problem(name, strings.TrimPrefix(err.Error(), name+" "))
	}
	return value
}

// fromFile prefers a file's content, as secrets are often mounted.
func (r *reading) fromFile(name, direct, path string) string {
	if path == "" {
		return direct
	}
	if direct != "" {
		r.problem(name, "is set beside "+strings.TrimSuffix(name, "_FILE")+": only one of them may be")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		r.problem(name, fmt.Sprintf("cannot be read: %v", err))
	}
	return strings.TrimSpace(string(b))
}

// setDefaults treats a variable set to nothing like one that is not set, as
// compose files often hand them on.
func (v *variables) setDefaults() {
	fields := reflect.ValueOf(v).Elem()
	for i := range fields.NumField() {
		field := fields.Field(i)
		field.SetString(strings.TrimSpace(field.String()))
		if field.String() == "" {
			field.SetString(fields.Type().Field(i).Tag.Get("envDefault"))
		}
	}
}

// settingsHelp is a line per variable, for --help.
func settingsHelp() string {
	var b strings.Builder
	for _, field := range reflect.VisibleFields(reflect.TypeFor[variables]()) {
		fallback := field.Tag.Get("envDefault")
		if fallback == "" {
			fallback = "(none)"
		}
		fmt.Fprintf(&b, "  %-28s %-15s %s\n", field.Tag.Get("env"), fallback, field.Tag.Get("about"))
	}
	return b.String()
}

func about(name string) string {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[variables]()) {
		if field.Tag.Get("env") == name {
			return field.Tag.Get("about")
		}
	}
	return ""
}

func databaseURL(raw string) (string, error) {
	// pgx's own message may quote the address, and the password with it.
	if !strings.HasPrefix(raw, "postgres://") && !strings.HasPrefix(raw, "postgresql://") {
		return "", errors.New("must begin with postgres://")
	}
	if _, err := pgxpool.ParseConfig(raw); err != nil {
		return "", errors.New("is not an address of PostgreSQL; special characters in the password must be percent-encoded")
	}
	return raw, nil
}

func baseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, errors.New("must be like https://ciclo.example.com")
	case u.Path != "" && u.Path != "/", u.RawQuery != "", u.Fragment != "", u.User != nil:
		return nil, errors.New("must end after the host and port")
	}
	u.Path = ""
	return u, nil
}

func webAddress(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", errors.New("must be like http://collector:4318")
	}
	return raw, nil
}

func listenAddress(raw string) (string, error) {
	_, port, err := net.SplitHostPort(raw)
	if err != nil {
		return "", errors.New("must be like 127.0.0.1:8080 or :8080")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", errors.New("must end in a port between 0 and 65535")
	}
	return raw, nil
}

func keyRing(raw string) (links.Ring, error) {
	if strings.Contains(raw, exampleKey) {
		return nil, errors.New("holds the key of .env.example, which everybody knows: make one with ciclo config key")
	}
	ring, err := links.ParseRing(raw)
	if err != nil {
		return nil, fmt.Errorf("is refused: %w (make a key with ciclo config key)", err)
	}
	return ring, nil
}

func smtpServer(raw string) (smtp.Server, error) { return smtp.ParseURL(raw) }

func mailAddress(raw string) (mail.Address, error) {
	a, err := mail.ParseAddress(raw)
	if err != nil {
		return mail.Address{}, errors.New("must be an address like ciclo@example.com, or Name <ciclo@example.com>")
	}
	return *a, nil
}

func networks(raw string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for part := range strings.SplitSeq(raw, ",") {
		part = strings.TrimSpace(part)
		network, err := netip.ParsePrefix(part)
		if err != nil {
			address, addressErr := netip.ParseAddr(part)
			if addressErr != nil {
				return nil, fmt.Errorf("holds %q, which is neither an address nor a network like 10.0.0.0/8", part)
			}
			network = netip.PrefixFrom(address, address.BitLen())
		}
		all = append(all, network.Masked())
	}
	return all, nil
}

func between(least, most int) func(string) (int, error) {
	return func(raw string) (int, error) {
		n, err := strconv.Atoi(raw)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("must be a whole number between %d and %d", least, most)
		}
		return n, nil
	}
}

func yesOrNo(raw string) (bool, error) {
	yes, err := strconv.ParseBool(raw)
	if err != nil {
		return false, errors.New("must be 1 or 0")
	}
	return yes, nil
}

func oneOf(words ...string) func(string) (string, error) {
	return func(raw string) (string, error) {
		if !slices.Contains(words, raw) {
			return "", fmt.Errorf("must be one of %s", strings.Join(words, ", "))
		}
		return raw, nil
	}
}

// configCommands look at the settings and touch nothing else.
type configCommands struct {
	Check configCheck `cmd:"" help:"Say what is wrong with the settings that serve and work would start with."`
	Key   configKey   `cmd:"" help:"Make a key for SECRET_KEYS."`
}

type configCheck struct{}

// Run checks everything that serve needs.
func (configCheck) Run(out io.Writer) error {
	c, err := loadConfig(toServe...)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "The settings are complete: %s on %s, mail through %s, %d key(s), new links signed with %s.\n",
		c.BaseURL, c.Listen, c.SMTP.Addr(), len(c.Keys), c.Keys.SigningKey())
	return nil
}

type configKey struct {
	ID string `arg:"" optional:"" default:"k1" help:"The key's name: a new one for every key."`
}

// Run prints a fresh key, in the form that SECRET_KEYS takes.
func (k configKey) Run(out io.Writer) error {
	key := newKey(k.ID)
	if _, err := links.ParseRing(key); err != nil {
		return err
	}
	fmt.Fprintln(out, key)
	return nil
}

// newKey makes a key of a ring as SECRET_KEYS writes it.
func newKey(id string) string {
	secret := make([]byte, links.MinSecret)
	_, _ = rand.Read(secret) // never fails
	return id + ":" + base64.StdEncoding.EncodeToString(secret)
}
