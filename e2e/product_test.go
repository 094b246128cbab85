package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/pg"
)

const (
	hrManager = "rh@demo.example"
	admin     = "admin@demo.example"
	reviewer  = "avaliador@demo.example"
	password  = "ciclo-demo"
)

// scratch is where this package builds and keeps; TestMain removes it.
var scratch string

func TestMain(m *testing.M) {
	// Short, below /tmp and open to enter: PostgreSQL runs as another user when we are root.
	dir, err := os.MkdirTemp("", "ciclo-e2e-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	endBrowser()
	endShared()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// binary is the product, built once, as make run builds it.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "ciclo")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/ciclo")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the product: %w\n%s", err, out)
	}
	return path, nil
})

// product is one running `ciclo demo`.
type product struct {
	url  string
	data string
	cmd  *exec.Cmd
	out  *transcript
	done chan struct{}
}

var says = regexp.MustCompile(`Ciclo is at\s+(http://\S+)`)

// launch starts the demo on a free port and waits until it says where it is.
func launch(data string, more ...string) (*product, error) {
	path, err := binary()
	if err != nil {
		return nil, err
	}
	p := &product{data: data, out: &transcript{}, done: make(chan struct{})}
	p.cmd = exec.Command(path, append([]string{"demo", "--data", data, "--listen", "127.0.0.1:0"}, more...)...)
	p.cmd.Stderr = p.out
	// a group of its own, so that nothing of it outlives the tests
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	at := make(chan string, 1)
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(io.TeeReader(stdout, p.out))
		for lines.Scan() {
			if m := says.FindStringSubmatch(lines.Text()); m != nil {
				at <- m[1]
			}
		}
		_ = p.cmd.Wait()
	}()
	select {
	case p.url = <-at:
		return p, nil
	case <-p.done:
		return nil, fmt.Errorf("the demo ended at once:\n%s", p.out)
	case <-time.After(2 * time.Minute):
		p.kill()
		return nil, fmt.Errorf("the demo does not come up:\n%s", p.out)
	}
}

// start launches a demo that ends with the test.
func start(t *testing.T, data string) *product {
	t.Helper()
	p, err := launch(data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Log(p.out)
		}
	})
	return p
}

// stop ends it as Ctrl-C does.
func (p *product) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		p.kill()
	}
}

// kill ends it as a power cut does.
func (p *product) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// database connects to the demo's database as its operator could: by the socket.
func (p *product) database(t *testing.T) *pgx.Conn {
	t.Helper()
	server, err := pg.Start(t.Context(), pg.Options{Dir: p.data}) // joins the one that runs
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), server.DSN("ciclo"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// one reads one value.
func one[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) (value T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	return value
}

var (
	sharing    sync.Mutex
	sharedDemo *product
	sharedErr  error
)

// shared is the demo that the tests without a wish of their own have in common.
func shared(t *testing.T) *product {
	t.Helper()
	sharing.Lock()
	defer sharing.Unlock()
	if sharedDemo == nil && sharedErr == nil {
		sharedDemo, sharedErr = launch(filepath.Join(scratch, "shared"))
	}
	if sharedErr != nil {
		t.Fatal(sharedErr)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(sharedDemo.out)
		}
	})
	return sharedDemo
}

func endShared() {
	if sharedDemo != nil {
		sharedDemo.stop()
	}
}

// until asks again and again, and fails the test when the answer stays no.
func until(t *testing.T, what string, limit time.Duration, ask func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(limit)
	for !ask() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("still not after %s: %s", limit, what)
		case <-t.Context().Done():
			t.Fatal(errors.Join(t.Context().Err(), errors.New(what)))
		}
	}
}

// transcript keeps what a process said, from two pipes at once.
type transcript struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *transcript) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *transcript) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.b.String()
	return strings.TrimSpace(s[max(0, len(s)-8000):])
}
