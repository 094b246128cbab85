package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/rivertype"
	"github.com/riverqueue/rivercontrib/otelriver"

	"ciclo/handlers"
	smtp "ciclo/internal/mail"
	"ciclo/internal/outbox"
	"ciclo/internal/relay"
	"ciclo/internal/telemetry"
	"ciclo/migrations"
	"ciclo/store"
)

// How long the parts may take to stop, in the order they are stopped. The sum
// stays under the minute that a container is given.
const (
	httpStops  = 5 * time.Second
	sendsStop  = 50 * time.Second
	flushStops = 3 * time.Second
)

// app is the product, opened in order: telemetry, database, store, and then
// web, workers or both.
type app struct {
	config   config
	log      *slog.Logger
	pool     *pgxpool.Pool
	store    *store.Store
	flush    func(context.Context) error
	relay    *relay.Relay
	mail     *smtp.Pool
	web      *http.Server
	listener net.Listener
	stopping atomic.Bool
	closed   sync.Once
}

// openApp connects to a migrated database. Nothing is served or worked yet.
func openApp(ctx context.Context, c config, log *slog.Logger) (*app, error) {
	a := &app{config: c, log: log}
	var err error
	if a.flush, err = telemetry.Start(ctx, c.OTLPEndpoint, buildVersion()); err != nil {
		return nil, err
	}
	if a.pool, err = openPool(ctx, c.DatabaseURL, c.OTLPEndpoint != ""); err != nil {
		return nil, err
	}
	if a.store, err = store.New(a.pool); err != nil {
		a.pool.Close()
		return nil, err
	}
	return a, nil
}

// openPool makes room for the workers, the listener and a few pages.
func openPool(ctx context.Context, dsn string, traced bool) (*pgxpool.Pool, error) {
	pc, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("DATABASE_URL is not an address of PostgreSQL")
	}
	if pc.MaxConns < minimumConns() {
		pc.MaxConns = minimumConns()
	}
	if traced {
		pc.ConnConfig.Tracer = otelpgx.NewTracer(otelpgx.WithDisableConnectionDetailsInAttributes())
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	return pool, nil
}

// minimumConns is one for each worker that may hold one, and five for River,
// the sweep and pages beside them.
func minimumConns() int32 {
	n := 5
	for _, workers := range relay.DefaultWorkers {
		n += workers
	}
	return int32(n)
}

// work starts the relay.
func (a *app) work(ctx context.Context) error {
	a.mail = smtp.NewPool(a.config.SMTP, smtp.Options{MaxConnections: a.config.SMTPMaxConnections})
	carrier := &relay.Mail{Store: a.store, Pool: a.mail, From: a.config.MailFrom, BaseURL: a.config.BaseURL.String(), Keys: a.config.Keys}
	var traced []rivertype.Middleware
	if a.config.OTLPEndpoint != "" {
		traced = append(traced, otelriver.NewMiddleware(&otelriver.MiddlewareConfig{EnableTracePropagation: true, EnableWorkSpanJobKindSuffix: true}))
	}
	var err error
	a.relay, err = relay.New(relay.Options{Store: a.store, Log: a.log, Middleware: traced, Deliverers: map[string]relay.Deliverer{
		outbox.QueueMail: carrier, outbox.QueueMailNow: carrier, outbox.QueueAlone: carrier,
	}})
	if err != nil {
		return err
	}
	return a.relay.Start(ctx)
}

// serve listens and answers; more adds routes of the demo. It returns at once.
func (a *app) serve(ctx context.Context, more func(chi.Router)) error {
	_, mailDomain, _ := strings.Cut(strings.ToLower(a.config.MailFrom.Address), "@")
	h, err := handlers.New(handlers.Options{
		Store: a.store, Log: a.log, BaseURL: a.config.BaseURL.String(), TrustedProxies: a.config.TrustedProxies,
		Keys: a.config.Keys, MailDomain: mailDomain, Trace: telemetry.Server, Ready: a.ready, More: more,
	})
	if err != nil {
		return err
	}
	if a.listener == nil {
		if a.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", a.config.Listen); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
	}
	a.web = &http.Server{
		Handler: h.Routes(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 60 * time.Second, WriteTimeout: 60 * time.Second,
		IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	go func() {
		if err := a.web.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
			a.log.Error("the web server ended", "error", err)
		}
	}()
	return nil
}

// ready answers nil while requests are welcome: the database answers, its
// schema is at least as new as ours, and we are not stopping.
func (a *app) ready(ctx context.Context) error {
	if a.stopping.Load() {
		return errors.New("stopping")
	}
	return a.store.Ready(ctx, migrations.Latest())
}

// close stops what runs, in order: no new requests, no new claims and sends
// ended, then the database, then what telemetry still holds.
func (a *app) close() { a.closed.Do(a.stop) }

func (a *app) stop() {
	a.stopping.Store(true)
	stop := func(name string, limit time.Duration, do func(context.Context) error) {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := do(ctx); err != nil {
			a.log.Warn("stopped the hard way", "part", name, "error", err)
		}
	}
	if a.web != nil {
		stop("web", httpStops, a.web.Shutdown)
	}
	if a.relay != nil {
		stop("relay", sendsStop, a.relay.Stop)
		a.mail.Close()
	}
	a.pool.Close()
	stop("telemetry", flushStops, a.flush)
}

// newLog writes JSON for machines, or text where a person looks on.
func newLog(format string) *slog.Logger {
	terminal := false
	if info, err := os.Stderr.Stat(); err == nil {
		terminal = info.Mode()&os.ModeCharDevice != 0
	}
	if format == "text" || format != "json" && terminal {
		return slog.New(telemetry.WithTrace(slog.NewTextHandler(os.Stderr, nil)))
	}
	return slog.New(telemetry.WithTrace(slog.NewJSONHandler(os.Stderr, nil)))
}
