package pg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// oldest is the first release with everything our schema uses.
const oldest = 15

// binaries is a folder with initdb and postgres in it.
type binaries struct {
	dir     string
	major   int
	version string // "15.18"
}

// usual are the folders that packagers put a server in. The programs on PATH
// may be links or wrappers, so the folders come first.
var usual = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/usr/libexec/postgresql*",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
	"/usr/local/pgsql/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// locate finds a server that the account may run: what PG_BIN names, else the
// newest on the machine, else the pinned package. A major other than 0 is the
// release that made the cluster; only that one can read it.
func locate(ctx context.Context, as account, major int) (binaries, error) {
	if dir := os.Getenv("PG_BIN"); dir != "" {
		bin, err := inspect(ctx, as, dir)
		if err != nil {
			return binaries{}, fmt.Errorf("PG_BIN is %s: %w", dir, err)
		}
		if major != 0 && bin.major != major {
			return binaries{}, fmt.Errorf("PG_BIN is PostgreSQL %d, and the data folder was made by %d: choose another folder or the other binaries", bin.major, major)
		}
		return bin, nil
	}
	if bin, ok := installed(ctx, as, major); ok {
		return bin, nil
	}
	if major != 0 && major != packagedMajor {
		return binaries{}, fmt.Errorf("the data folder was made by PostgreSQL %d, which is not on this machine: install it, or choose another folder", major)
	}
	return packaged(ctx, as)
}

// installed is the newest release on the machine; with a major, the newest of that one.
func installed(ctx context.Context, as account, major int) (best binaries, ok bool) {
	var dirs []string
	for _, pattern := range usual {
		found, _ := filepath.Glob(pattern)
		dirs = append(dirs, found...)
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	for _, dir := range dirs {
		bin, err := inspect(ctx, as, dir)
		if err != nil || major != 0 && bin.major != major {
			continue
		}
		if bin.major > best.major {
			best = bin
		}
	}
	return best, best.major > 0
}

// inspect asks the server of a folder for its release, as the account that will run it.
func inspect(ctx context.Context, as account, dir string) (binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return binaries{}, fmt.Errorf("find folder: %w", err)
	}
	for _, program := range []string{"initdb", "postgres"} {
		if !as.can("-x", filepath.Join(dir, program)) {
			return binaries{}, fmt.Errorf("%s finds no program %s there", as.name, program)
		}
	}
	out, err := as.command(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return binaries{}, fmt.Errorf("ask postgres for its version: %w", err)
	}
	// "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", or "… 18beta2"
	fields := strings.Fields(string(out))
	if len(fields) < 3 {
		return binaries{}, fmt.Errorf("postgres calls itself %q", out)
	}
	digits, _, _ := strings.Cut(fields[2], ".")
	if i := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = digits[:i]
	}
	major, err := strconv.Atoi(digits)
	if err != nil {
		return binaries{}, fmt.Errorf("postgres calls itself %q", out)
	}
	if major < oldest {
		return binaries{}, fmt.Errorf("that is PostgreSQL %s, and %d is the oldest that will do", fields[2], oldest)
	}
	return binaries{dir: dir, major: major, version: fields[2]}, nil
}

// errNone is the one line that says what to type.
var errNone = errors.New("no PostgreSQL 15 or newer here: install it (apt-get install postgresql, brew install postgresql@17), or install Node.js with npm, or set PG_BIN to its bin folder")
