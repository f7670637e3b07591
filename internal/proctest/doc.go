// Package proctest runs servers as processes of their own, as their users do. Only tests
// use it.
//
// A server says "listening on URL" on a line of its own, on either output, once it can be
// called. A test waits for that line, and not for ever: a server that hangs or ends before it
// fails the test at once or after a minute, with all that it wrote. One that hangs is asked
// where: the runtime of Go answers SIGQUIT with the stack of every goroutine.
package proctest
