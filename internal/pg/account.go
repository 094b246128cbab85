package pg

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is who the server runs as: ourselves, or a plain user when we are root.
type account struct {
	name       string
	uid, gid   int
	credential *syscall.Credential // nil: ourselves
}

// serverAccount picks postgres, else nobody, when we are root.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{name: "this user", uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return account{}, errors.New("PostgreSQL refuses to run as root, and there is no user postgres or nobody: run this as another user")
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return account{}, fmt.Errorf("read user %s: %w", u.Username, err)
	}
	return account{
		name: "user " + u.Username, uid: uid, gid: gid,
		credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)},
	}, nil
}

// command prepares a program that runs as the account.
func (a account) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = "/" // the account may not be allowed into our folder
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	// A group of its own: Ctrl-C in a terminal reaches us alone, and we stop the
	// server after those who use it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential, Setpgid: true}
	return cmd
}

// can asks test(1) as the account: "-w" may it write there, "-x" run or enter it.
func (a account) can(flag, path string) bool {
	return a.command(context.Background(), "/bin/sh", "-c", `test "$0" "$1"`, flag, path).Run() == nil
}

// settle makes the server's folder where it was asked for. When the server's
// user cannot get there (a clone below root's home, say) it takes a folder of
// /var/tmp instead, the same one every time.
func settle(dir string, as account) (string, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("make folder %s: %w", filepath.Dir(dir), err)
	}
	if err := privateFolder(dir, as); err != nil {
		return "", err
	}
	if as.credential == nil || as.can("-w", dir) {
		return dir, nil
	}
	_ = os.Remove(dir) // only when empty
	sum := sha256.Sum256([]byte(dir))
	other := fmt.Sprintf("/var/tmp/ciclo-pg-%d-%x", os.Geteuid(), sum[:5])
	if err := privateFolder(other, as); err != nil {
		return "", err
	}
	if !as.can("-w", other) {
		return "", fmt.Errorf("%s may write neither in %s nor in %s: choose another folder", as.name, dir, other)
	}
	return other, nil
}

// privateFolder makes a folder that belongs to the account and that nobody else
// may enter. The names in /tmp can be guessed, so one that is there already is
// looked at without following links before it is trusted.
func privateFolder(path string, as account) error {
	err := os.Mkdir(path, 0o700)
	if err == nil {
		if as.credential != nil {
			if err := os.Lchown(path, as.uid, as.gid); err != nil {
				return fmt.Errorf("give folder %s to %s: %w", path, as.name, err)
			}
		}
		return nil
	}
	if !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make folder %s: %w", path, err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("look at folder %s: %w", path, err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir() || !ok:
		return fmt.Errorf("%s is not a folder: remove it", path)
	case int(owner.Uid) == as.uid && info.Mode().Perm() == 0o700:
		return nil
	case int(owner.Uid) != as.uid && int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("folder %s belongs to someone else: remove it, or choose another", path)
	}
	// Ours, made by hand or by a run as another user of ours. Only an empty one
	// is taken over: whatever is in it was not put there by this server.
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("look into folder %s: %w", path, err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("folder %s is neither empty nor private to %s: choose another", path, as.name)
	}
	if err := errors.Join(os.Lchown(path, as.uid, as.gid), os.Chmod(path, 0o700)); err != nil {
		return fmt.Errorf("give folder %s to %s: %w", path, as.name, err)
	}
	return nil
}
