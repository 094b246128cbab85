//go:build !linux

package pg

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

func endWithUs(*exec.Cmd) {}

// afterStart leaves a small shell beside the server. It reads from a pipe that
// only we hold; when we die, the pipe ends, and it stops the server.
func afterStart(server *exec.Cmd) error {
	watch := exec.Command("/bin/sh", "-c", `cat >/dev/null; kill -INT "$0" 2>/dev/null`, strconv.Itoa(server.Process.Pid))
	watch.SysProcAttr = &syscall.SysProcAttr{Credential: server.SysProcAttr.Credential, Setpgid: true}
	if _, err := watch.StdinPipe(); err != nil {
		return fmt.Errorf("watch over the server: %w", err)
	}
	if err := watch.Start(); err != nil {
		return fmt.Errorf("watch over the server: %w", err)
	}
	go func() { _ = watch.Wait() }()
	return nil
}

// ownServer reports whether a process is the server of a data folder, and not
// another program that got its number.
func ownServer(pid int, data string) bool {
	line, err := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(line), data)
}
