//go:build unix

package overrides

import (
	"os"
	"os/signal"
	"syscall"
)

// openFlags keeps the opening of a pipe from waiting for a writer.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// onHangUp has SIGHUP sent to c.
func onHangUp(c chan<- os.Signal) { signal.Notify(c, syscall.SIGHUP) }
