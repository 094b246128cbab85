package pg

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// endWithUs has the kernel send the server its fast shutdown when we die, even
// by SIGKILL.
func endWithUs(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGINT }

func afterStart(*exec.Cmd) error { return nil }

// ownServer reports whether a process is the server of a data folder, and not
// another program that got its number.
func ownServer(pid int, data string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(line, []byte("\x00"+data+"\x00"))
}
