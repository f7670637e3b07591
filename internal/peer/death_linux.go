package peer

import (
	"os/exec"
	"syscall"
)

// dieWithUs has the kernel kill the child when we end in a way that lets us do nothing
// any more, such as SIGKILL. Its own children are not reached. The caller must keep the
// thread that starts the child until the child has ended.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
