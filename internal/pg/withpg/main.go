// Command withpg runs a command with a private PostgreSQL beside it, for tests:
//
//	go run ./internal/pg/withpg -- go test ./...
//
// The command finds the server in TEST_DATABASE_URL. When that is set already,
// withpg starts nothing. It ends with the command's exit code.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"ciclo/internal/pg"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: withpg [--] COMMAND [ARGUMENT…]")
		os.Exit(2)
	}
	code, err := run(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "withpg:", err)
		os.Exit(max(code, 1))
	}
	os.Exit(code)
}

func run(args []string) (code int, err error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	// A Ctrl-C reaches the command too, as it shares our group: it ends, and
	// then we stop the server and end as it did.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if os.Getenv("TEST_DATABASE_URL") == "" {
		server, err := pg.StartForTests(context.Background())
		if err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, server.Stop()) }()
		cmd.Env = append(cmd.Env, "TEST_DATABASE_URL="+server.DSN("postgres"))
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGTERM { // sent to us alone
				_ = cmd.Process.Signal(s)
			}
		}
	}()
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}
