//go:build !unix

package overrides

import "os"

// openFlags has nothing to add where no file system has pipes.
const openFlags = 0

// onHangUp does nothing where there is no SIGHUP.
func onHangUp(chan<- os.Signal) {}
