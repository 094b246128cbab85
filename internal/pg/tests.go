package pg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// StartForTests runs a quick and forgetful server for this process alone, in
// memory where there is room. Its folders have fixed names and are used again,
// so the migrated template of the last run is still there, and so
// TEST_DATABASE_URL stays the same and go test may answer from its cache.
func StartForTests(ctx context.Context) (*Server, error) {
	as, err := serverAccount()
	if err != nil {
		return nil, err
	}
	base := roomyFolder()
	for slot := range 32 {
		dir := filepath.Join(base, fmt.Sprintf("ciclo-tests-%d-%d-%d", os.Geteuid(), as.uid, slot))
		s, err := startAlone(ctx, dir)
		if errors.Is(err, errLocked) {
			continue // another test run has that one
		}
		if err != nil {
			return nil, err
		}
		if err := s.tidy(ctx); err != nil {
			return nil, errors.Join(err, s.Stop())
		}
		return s, nil
	}
	return nil, fmt.Errorf("32 test servers run already below %s", base)
}

// roomyFolder is memory when there are two gigabytes of it free (containers often
// get 64 MB), else the folder for temporary files.
func roomyFolder() string {
	const shm = "/dev/shm"
	var fs syscall.Statfs_t
	if err := syscall.Statfs(shm, &fs); err == nil && uint64(fs.Bavail)*uint64(fs.Bsize) > 2<<30 {
		return shm
	}
	return os.TempDir()
}

// startAlone is Start for a folder that must not be shared.
func startAlone(ctx context.Context, dir string) (*Server, error) {
	s, err := prepare(Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	if s.owner, err = tryLockFile(filepath.Join(s.dir, "owner.lock")); err != nil {
		return nil, err
	}
	err = s.own(ctx, Options{})
	if err != nil && ctx.Err() == nil {
		// Nothing in it is worth mending: a power cut without fsync, or a
		// release that is no longer installed.
		s.cmd, s.ended = nil, make(chan struct{})
		if err = os.RemoveAll(s.data()); err == nil {
			err = s.own(ctx, Options{})
		}
	}
	if err != nil {
		s.owner.Close()
		return nil, err
	}
	return s, nil
}

// tidy drops what earlier test runs left: databases of tests that were killed,
// and templates once there are many.
func (s *Server) tidy(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return fmt.Errorf("tidy the test server: %w", err)
	}
	defer conn.Close(ctx)
	rows, _ := conn.Query(ctx, `
		SELECT datname
		FROM pg_database
		WHERE datname ~ '^(t|tpl)_'`)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("list what earlier tests left: %w", err)
	}
	templates := 0
	for _, name := range names {
		if strings.HasPrefix(name, "tpl_") {
			templates++
		}
	}
	for _, name := range names {
		if strings.HasPrefix(name, "tpl_") && templates <= 4 {
			continue
		}
		if err := DropDatabase(ctx, conn, name); err != nil {
			return err
		}
	}
	return nil
}

// DropDatabase drops a test database or template, whoever is connected to it.
func DropDatabase(ctx context.Context, conn *pgx.Conn, name string) error {
	id := pgx.Identifier{name}.Sanitize()
	if strings.HasPrefix(name, "tpl_") {
		if _, err := conn.Exec(ctx, `ALTER DATABASE `+id+` IS_TEMPLATE false`); err != nil {
			return fmt.Errorf("unseal template %s: %w", name, err)
		}
	}
	if _, err := conn.Exec(ctx, `DROP DATABASE IF EXISTS `+id+` WITH (FORCE)`); err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}
