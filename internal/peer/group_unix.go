//go:build unix

package peer

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"
)

// ownGroup makes the child the leader of a process group, so that its children can be
// ended with it, and so that an interrupt at the terminal reaches it through us.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// group is the process group of a child that was started.
type group struct {
	cmd *exec.Cmd

	mu    sync.Mutex
	empty bool
}

func (g *group) terminate() { g.signal(syscall.SIGTERM) }

// kill also reaches what the leader has left behind when it ended.
func (g *group) kill() { g.signal(syscall.SIGKILL) }

// reaped is called when the leader has been waited for: from then on the group can be
// empty.
func (g *group) reaped() { g.signal(0) }

// signal signals the group until it was once seen empty. Its number is not given away while
// it has members, of which a leader that has not been waited for is one; afterwards it can
// be that of another group, which must not be hit.
func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.empty {
		g.empty = errors.Is(syscall.Kill(-g.cmd.Process.Pid, s), syscall.ESRCH)
	}
}
