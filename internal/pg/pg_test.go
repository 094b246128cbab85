package pg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The test binary is also the process that gets killed: with this variable set
// it starts a server in that folder, says so, and waits.
const victim = "CICLO_PG_TEST_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victim); dir != "" {
		s, err := Start(context.Background(), Options{Dir: dir})
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		fmt.Println("ready", s.DSN("postgres"))
		select {}
	}
	os.Exit(m.Run())
}

func TestAServerStartsAnswersStopsAndKeepsItsData(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for _, want := range []string{"", "kept"} {
		s := start(t, Options{Dir: dir, Durable: true})
		conn := connect(t, s.DSN("postgres"))
		var got, port string
		err := conn.QueryRow(t.Context(), `
			SELECT coalesce(obj_description('pg_database'::regclass), ''), current_setting('listen_addresses')`).Scan(&got, &port)
		if err != nil || got != want || port != "" {
			t.Errorf("comment is %q, want %q; listens on %q, want nothing (%v)", got, want, port, err)
		}
		if _, err := conn.Exec(t.Context(), `COMMENT ON TABLE pg_database IS 'kept'`); err != nil {
			// The catalogues are only for superusers to comment on, and we are one.
			t.Error(err)
		}
		stop(t, s)
		stop(t, s) // harmless
		if err := s.ping(t.Context()); err == nil {
			t.Error("it answers after Stop")
		}
	}
}

func TestTwoStartsAtOnceShareOneServer(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	servers := make([]*Server, 4)
	var all sync.WaitGroup
	for i := range servers {
		all.Go(func() {
			s, err := Start(t.Context(), Options{Dir: dir})
			if err != nil {
				t.Errorf("Start() = %v", err)
				return
			}
			servers[i] = s
			t.Cleanup(func() { _ = os.RemoveAll(s.socket) })
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	owners := 0
	for _, s := range servers {
		if s.cmd != nil {
			owners++
			defer stop(t, s)
			continue
		}
		stop(t, s) // leaves the server to its owner
	}
	if owners != 1 {
		t.Fatalf("%d of them started a server, want 1", owners)
	}
	if err := servers[0].ping(t.Context()); err != nil {
		t.Errorf("the server ended with a guest: %v", err)
	}
}

func TestAKilledParentTakesTheServerAlongAndTheNextStartIsClean(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for range 2 {
		cmd, dsn := startVictim(t, dir)
		conn := connect(t, dsn)
		if _, err := conn.Exec(t.Context(), `CREATE TABLE IF NOT EXISTS survivors (id bigint)`); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		// At once: the old server is still on its way out.
		s := start(t, Options{Dir: dir})
		var there bool
		err := connect(t, s.DSN("postgres")).QueryRow(t.Context(), `SELECT to_regclass('survivors') IS NOT NULL`).Scan(&there)
		if err != nil || !there {
			t.Errorf("the table is there: %v (%v)", there, err)
		}
		stop(t, s)
	}
}

func TestAJoinedServerIsLeftRunning(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	cmd, dsn := startVictim(t, dir)
	s := start(t, Options{Dir: dir})
	if s.DSN("postgres") != dsn {
		t.Errorf("DSN() = %s, want %s", s.DSN("postgres"), dsn)
	}
	stop(t, s)
	connect(t, dsn)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := s.clearAway(t.Context()); err != nil { // waits for its end
		t.Error(err)
	}
}

func TestAServerThatDiedHardIsStartedAgain(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, Options{Dir: dir, Durable: true})
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	s.owner.Close()
	again := start(t, Options{Dir: dir, Durable: true})
	connect(t, again.DSN("postgres"))
	stop(t, again)
}

func TestALeftoverPidFileOfAnotherProgramIsNoObstacle(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	stop(t, start(t, Options{Dir: dir}))
	pidFile := filepath.Join(dir, "data", "postmaster.pid")
	if err := os.WriteFile(pidFile, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		t.Fatal(err)
	}
	as, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(pidFile, as.uid, as.gid); err != nil {
		t.Fatal(err)
	}
	stop(t, start(t, Options{Dir: dir}))
}

func TestAnInterruptedInitdbIsDoneAgain(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s, err := prepare(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	half := s.data() + ".new"
	if err := os.MkdirAll(filepath.Join(half, "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	stop(t, start(t, Options{Dir: dir}))
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", half, err)
	}
}

func TestAFolderTheServersUserCannotEnterIsReplaced(t *testing.T) {
	t.Parallel()
	as, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(filepath.Dir(folder(t)), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	asked := filepath.Join(closed, "pg")
	var got [2]string
	for i := range got {
		if got[i], err = settle(asked, as); err != nil {
			t.Fatal(err)
		}
	}
	if got[0] != asked { // only root runs the server as someone else
		t.Cleanup(func() { _ = os.RemoveAll(got[0]) })
	}
	if replaced := got[0] != asked; replaced != (as.credential != nil) || got[0] != got[1] {
		t.Errorf("settle(%s) = %v", asked, got)
	}
}

func TestFoldersThatAreNotOursAreRefused(t *testing.T) {
	t.Parallel()
	as, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	base := folder(t)
	if err := os.MkdirAll(filepath.Join(base, "full", "of"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("full", filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(base, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		want bool
	}{
		{"new", true},
		{"empty", true}, // made by hand: taken over
		{"full", false},
		{"link", false},
		{"file", false},
	} {
		err := privateFolder(filepath.Join(base, tt.name), as)
		if (err == nil) != tt.want {
			t.Errorf("privateFolder(%s) = %v, want success %v", tt.name, err, tt.want)
		}
	}
}

func TestABadPgBinIsNamed(t *testing.T) {
	t.Setenv("PG_BIN", "/nonexistent")
	_, err := Start(t.Context(), Options{Dir: folder(t)})
	if err == nil || !strings.Contains(err.Error(), "PG_BIN is /nonexistent") {
		t.Errorf("Start() = %v, want one that names PG_BIN", err)
	}
}

func TestADownloadThatDiffersIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "package.tgz")
	if err := os.WriteFile(path, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	for platform, pack := range packages {
		if err := check(path, pack.sha512); err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("check() for %s = %v, want a refusal", platform, err)
		}
	}
}

func TestTestServersDoNotMeet(t *testing.T) {
	t.Parallel()
	one, err := StartForTests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, one)
	two, err := StartForTests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, two)
	if one.DSN("postgres") == two.DSN("postgres") {
		t.Error("two test runs got one server")
	}
}

// folder is short-lived and the server's user can enter it, which t.TempDir's
// parents do not allow when we are root.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(roomyFolder(), "ciclo-pg-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "pg")
}

func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatalf("Start() = %v", err)
	}
	t.Cleanup(func() { _ = s.Stop(); _ = os.RemoveAll(s.socket) })
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Errorf("Stop() = %v", err)
	}
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// startVictim runs a server in another process, which the test may kill.
func startVictim(t *testing.T, dir string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victim+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	dsn, ok := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if err != nil || !ok {
		t.Fatalf("the other process says %q (%v)", line, err)
	}
	return cmd, dsn
}
