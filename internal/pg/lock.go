package pg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

var errLocked = errors.New("another process holds the lock")

// tryLockFile takes a lock that ends with the returned file, or with us: the
// kernel lets go of it when a process dies, however it dies.
func tryLockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock %s: %w", path, err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// lockFile waits for the lock for as long as ctx allows.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := tryLockFile(path)
		if !errors.Is(err, errLocked) {
			return f, err
		}
		if !pause(ctx, 20*time.Millisecond) {
			return nil, fmt.Errorf("lock %s: %w", path, ctx.Err())
		}
	}
}
