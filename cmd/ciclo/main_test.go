package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ciclo/store/storetest"
)

// good are settings that serve would start with.
var good = map[string]string{
	"DATABASE_URL":         "postgres://ciclo:secret@db/ciclo",
	"BASE_URL":             "https://ciclo.example.com/",
	"SECRET_KEYS":          "k1:WzigVAQIOTkhSfOVUXqTT1CutncsZN+ydB7pSrkRKxc=",
	"SMTP_URL":             "smtp://user:secret@mail.example.com",
	"MAIL_FROM":            "Ciclo <ciclo@example.com>",
	"SMTP_MAX_CONNECTIONS": "", // as compose hands on what is not set
}

// settle gives the test an environment with these settings and no others.
func settle(t *testing.T, settings ...map[string]string) {
	t.Helper()
	fields := reflect.VisibleFields(reflect.TypeFor[variables]())
	for _, field := range fields {
		value := ""
		for _, s := range settings {
			if v, ok := s[field.Tag.Get("env")]; ok {
				value = v
			}
		}
		t.Setenv(field.Tag.Get("env"), value)
	}
}

func TestSettingsAreReadAndDefaultsApply(t *testing.T) {
	settle(t, good, map[string]string{"TRUSTED_PROXIES": "10.0.0.7/8, ::1", "MIGRATE": "1"})
	c, err := loadConfig(toServe...)
	if err != nil {
		t.Fatal(err)
	}
	if c.BaseURL.String() != "https://ciclo.example.com" || c.Listen != "127.0.0.1:8080" || c.SMTP.Addr() != "mail.example.com:587" ||
		c.SMTPMaxConnections != 8 || !c.Migrate || c.MailFrom.Address != "ciclo@example.com" || c.LogFormat != "auto" {
		t.Errorf("loadConfig() = %+v", c)
	}
	if got := c.TrustedProxies; len(got) != 2 || got[0].String() != "10.0.0.0/8" || got[1].String() != "::1/128" {
		t.Errorf("TrustedProxies = %v", got)
	}
}

func TestAWrongSettingIsNamed(t *testing.T) {
	for _, tt := range []struct{ name, setting, value, want string }{
		{"no database", "DATABASE_URL", "", "DATABASE_URL is not set"},
		{"another database", "DATABASE_URL", "mysql://secret@db", "DATABASE_URL must begin with postgres://"},
		{"a database with a bad port", "DATABASE_URL", "postgres://u:secret@db:x/ciclo", "DATABASE_URL is not an address"},
		{"a base with a path", "BASE_URL", "https://example.com/ciclo", "BASE_URL must end"},
		{"a base that is a name", "BASE_URL", "example.com", "BASE_URL must be like"},
		{"listen without a port", "LISTEN", "localhost", "LISTEN must be like"},
		{"listen on a port too high", "LISTEN", ":70000", "LISTEN must end"},
		{"a short key", "SECRET_KEYS", "k1:c2hvcnQ=", "SECRET_KEYS is refused"},
		{"the example's key", "SECRET_KEYS", "k1:" + exampleKey, "SECRET_KEYS holds the key of .env.example"},
		{"mail by the web", "SMTP_URL", "https://mail", "SMTP_URL must begin with smtp://"},
		{"no connection", "SMTP_MAX_CONNECTIONS", "0", "SMTP_MAX_CONNECTIONS must be"},
		{"half a connection", "SMTP_MAX_CONNECTIONS", "0.5", "SMTP_MAX_CONNECTIONS must be"},
		{"a sender without a domain", "MAIL_FROM", "ciclo", "MAIL_FROM must be"},
		{"a proxy by name", "TRUSTED_PROXIES", "10.0.0.1,proxy", `TRUSTED_PROXIES holds "proxy"`},
		{"maybe migrate", "MIGRATE", "maybe", "MIGRATE must be 1 or 0"},
		{"a collector without a scheme", "OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "OTEL_EXPORTER_OTLP_ENDPOINT must be like"},
		{"logs in colour", "LOG_FORMAT", "pink", "LOG_FORMAT must be one of"},
		{"keys twice", "SECRET_KEYS_FILE", "/dev/null", "only one of them"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			settle(t, good, map[string]string{tt.setting: tt.value})
			code, out := ciclo(t, "config", "check")
			if code != 2 || !strings.Contains(out, tt.want) || strings.Contains(out, "secret") {
				t.Errorf("config check = %d %q, want 2 and %q, and no password", code, out, tt.want)
			}
		})
	}
}

func TestKeysComeFromAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	_, key := ciclo(t, "config", "key", "k2")
	if err := os.WriteFile(path, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	settle(t, good, map[string]string{"SECRET_KEYS": "", "SECRET_KEYS_FILE": path})
	if code, out := ciclo(t, "config", "check"); code != 0 || !strings.Contains(out, "signed with k2") {
		t.Errorf("config check = %d %q", code, out)
	}
}

func TestHelpNamesEverySettingAndCommand(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"migrate", "up", "--help"}, {"config", "--help"}} {
		code, out := ciclo(t, args...)
		if code != 0 {
			t.Errorf("ciclo %v = %d", args, code)
		}
		for _, field := range reflect.VisibleFields(reflect.TypeFor[variables]()) {
			if name := field.Tag.Get("env"); !strings.Contains(out, name) || field.Tag.Get("about") == "" {
				t.Errorf("ciclo %v does not explain %s", args, name)
			}
		}
	}
	if code, out := ciclo(t, "fly"); code != 2 || !strings.Contains(out, "ciclo --help") {
		t.Errorf("ciclo fly = %d %q", code, out)
	}
}

func TestMigrateFromTheCommandLine(t *testing.T) {
	settle(t, map[string]string{"DATABASE_URL": storetest.Empty(t)})
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"migrate status", 1, "missing: 000001_"},
		{"status", 1, "ciclo migrate up"},
		{"tenant create Nova", 1, "ciclo migrate up"},
		{"migrate up", 0, "River"},
		{"migrate status", 0, "River"},
		{"migrate down 0", 1, "1 or more"},
		{"migrate down 1", 0, "missing: "},
		{"migrate up", 0, "River"},
	} {
		if code, out := ciclo(t, strings.Fields(tt.args)...); code != tt.code || !strings.Contains(out, tt.want) {
			t.Errorf("ciclo %s = %d %q, want %d and %q", tt.args, code, out, tt.code, tt.want)
		}
	}
}

func TestHealthcheckAsksTheServer(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			t.Errorf("it asks for %s", r.URL.Path)
		}
		w.WriteHeader(status)
	}))
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	settle(t, map[string]string{"LISTEN": ":" + port}) // everywhere
	if code, out := ciclo(t, "healthcheck"); code != 0 {
		t.Errorf("healthcheck = %d %q", code, out)
	}
	status = http.StatusServiceUnavailable
	if code, out := ciclo(t, "healthcheck"); code != 1 || !strings.Contains(out, "503") {
		t.Errorf("healthcheck = %d %q", code, out)
	}
	server.Close()
	if code, _ := ciclo(t, "healthcheck"); code != 1 {
		t.Errorf("healthcheck of nothing = %d", code)
	}
}

func TestVersionNamesTheSchema(t *testing.T) {
	if code, out := ciclo(t, "version"); code != 0 || !strings.Contains(out, "schema ") {
		t.Errorf("version = %d %q", code, out)
	}
}

// ciclo runs a command line, and returns its exit code and all it wrote.
func ciclo(t *testing.T, args ...string) (code int, output string) {
	t.Helper()
	var out strings.Builder
	code = run(t.Context(), args, &out, &out)
	return code, out.String()
}
