//go:build unix

package peer

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the child the leader of a process group, so that its children can be
// ended with it, and so that an interrupt at the terminal reaches it through us.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends the group. The number of a group is not given away while it has members,
// so this also works when the leader has ended; if all have, there is nobody to hit.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
