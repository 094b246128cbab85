package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/demo"
	"ciclo/internal/links"
	smtp "ciclo/internal/mail"
	"ciclo/internal/outbox"
	"ciclo/internal/pg"
	"ciclo/migrations"
)

// demoCommand runs everything on this machine: a database of its own, an
// organisation to try, and a mail server whose letters can be read.
type demoCommand struct {
	Data   string `help:"Folder of the demo's database." default:"${demo_data}" type:"path"`
	Listen string `help:"Address on this machine to answer at." default:"127.0.0.1:8080" placeholder:"HOST:PORT"`
}

// Run shows the product until ctx ends.
func (c demoCommand) Run(ctx context.Context, out io.Writer) error {
	if err := loopbackOnly(c.Listen); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("%w: another address with --listen, such as --listen 127.0.0.1:8081", err)
	}
	fmt.Fprintln(out, "Starting the demo's database in", c.Data)
	server, err := pg.Start(ctx, pg.Options{Dir: c.Data, Durable: true})
	if err != nil {
		return err
	}
	defer func() { _ = server.Stop() }()
	release, err := onlyDemo(server.Dir(), listener.Addr().String())
	if err != nil {
		return err
	}
	defer release()
	catcher, err := demo.StartCatcher(context.WithoutCancel(ctx)) // outlives ctx: what is being sent then must still arrive
	if err != nil {
		return err
	}
	defer catcher.Close()
	config, err := demoConfig(server, catcher, listener)
	if err != nil {
		return err
	}
	if err := demoDatabase(ctx, server, config); err != nil {
		return err
	}
	a, err := openApp(ctx, config, newLog("text"))
	if err != nil {
		return err
	}
	defer a.close()
	ours, err := a.store.ClaimForDemo(ctx)
	if err != nil {
		return err
	}
	if !ours {
		return fmt.Errorf("the database in %s holds an organisation that is not the demo's: give another folder with --data", c.Data)
	}
	a.listener = listener
	if err := a.work(ctx); err != nil {
		return err
	}
	if err := a.serve(ctx, catcher.Routes); err != nil {
		return err
	}
	fmt.Fprint(out, demoWelcome(config.BaseURL.String()))
	<-ctx.Done()
	fmt.Fprintln(out, "Stopping")
	return nil
}

// demoFolder is where the demo's data lies unless told otherwise: in the cache
// of whoever runs it, so that a clone stays clean.
func demoFolder() string {
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "ciclo-demo")
	}
	return filepath.Join(os.TempDir(), "ciclo-demo")
}

// onlyDemo keeps a second demo off the folder: two would share the outbox, and
// each would miss the mail that the other sent. The lock ends with the process,
// however it ends; the file says where the demo that holds it answers.
func onlyDemo(dir, address string) (release func(), err error) {
	path := filepath.Join(dir, "demo.lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the demo's folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		other, _ := os.ReadFile(path)
		return nil, fmt.Errorf("a demo with this data already runs at http://%s: use it, or give this one another folder with --data", strings.TrimSpace(string(other)))
	}
	if err := errors.Join(file.Truncate(0), writeAt(file, address)); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock the demo's folder: %w", err)
	}
	return func() { _ = file.Close() }, nil
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text+"\n"), 0)
	return err
}

// loopbackOnly refuses an address that others could reach: everybody knows the
// demo's passwords.
func loopbackOnly(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("--listen %q must be like 127.0.0.1:8080", listen)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--listen %s can be reached from other machines, and everybody knows the demo's passwords: use 127.0.0.1", listen)
}

const demoDatabaseName = "ciclo"

// demoDatabase makes and seeds the database where it is missing, under another
// name until it is whole: a demo that was interrupted starts afresh. One that
// is there is migrated.
func demoDatabase(ctx context.Context, server *pg.Server, c config) error {
	conn, err := pgx.Connect(ctx, server.DSN("postgres"))
	if err != nil {
		return fmt.Errorf("reach the demo's database: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	var there bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, demoDatabaseName).Scan(&there); err != nil {
		return fmt.Errorf("look for the demo's database: %w", err)
	}
	if there {
		return migrations.Up(ctx, server.DSN(demoDatabaseName))
	}
	for _, sql := range []string{`DROP DATABASE IF EXISTS ciclo_unfinished WITH (FORCE)`, `CREATE DATABASE ciclo_unfinished`} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("make the demo's database: %w", err)
		}
	}
	c.DatabaseURL = server.DSN("ciclo_unfinished")
	if err := seedDatabase(ctx, c); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `ALTER DATABASE ciclo_unfinished RENAME TO `+demoDatabaseName); err != nil {
		return fmt.Errorf("name the demo's database: %w", err)
	}
	return nil
}

// seedDatabase fills it as people would: the cycle's invitations really go out,
// to the catcher, before the first reviews come in.
func seedDatabase(ctx context.Context, c config) error {
	if err := migrations.Up(ctx, c.DatabaseURL); err != nil {
		return err
	}
	a, err := openApp(ctx, c, newLog("text"))
	if err != nil {
		return err
	}
	defer a.close()
	if _, err := a.store.ClaimForDemo(ctx); err != nil {
		return err
	}
	return demo.Seed(ctx, a.store, func() error {
		if err := a.work(ctx); err != nil {
			return err
		}
		return a.settled(ctx)
	})
}

// settled waits until nothing is on its way any more.
func (a *app) settled(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		standing, err := a.store.OutboxStanding(ctx)
		if err != nil {
			return err
		}
		waiting := 0
		for _, s := range standing {
			if s.Queue != outbox.QueueHandout && s.Status != outbox.Failed {
				waiting += s.Events
			}
		}
		if waiting == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// demoConfig points everything at the parts of this process.
func demoConfig(server *pg.Server, catcher *demo.Catcher, listener net.Listener) (config, error) {
	keys, err := demoKeys(filepath.Join(server.Dir(), "keys"))
	if err != nil {
		return config{}, err
	}
	catches, err := smtp.ParseURL(catcher.URL())
	if err != nil {
		return config{}, err
	}
	base := &url.URL{Scheme: "http", Host: listener.Addr().String()}
	return config{
		DatabaseURL: server.DSN(demoDatabaseName), BaseURL: base, Keys: keys, SMTP: catches, SMTPMaxConnections: 8,
		MailFrom: mail.Address{Address: "ciclo@demo.example"}, OTLPEndpoint: os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"),
	}, nil
}

// demoKeys keeps the ring beside the database, so that links survive a restart.
func demoKeys(path string) (links.Ring, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		b = []byte(newKey("demo"))
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("keep the demo's keys: %w", err)
	}
	return links.ParseRing(strings.TrimSpace(string(b)))
}

func demoWelcome(address string) string {
	return fmt.Sprintf(`
  Ciclo is at   %[1]s
  Its mail at   %[1]s/dev/mail

  Sign in as    rh@demo.example         HR manager
                admin@demo.example      admin
                avaliador@demo.example  reviewer
  Password      %[2]s

  Ctrl-C stops it; the data stays for the next time.

`, address, demo.Password)
}
