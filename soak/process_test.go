package soak_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// process is a server as its parent sees it.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser // stdio only
	out io.ReadCloser
	end chan struct{} // closed when the process is gone
	err error         // how it ended

	mu       sync.Mutex
	commands *os.File
	reports  *os.File
	decoder  *json.Decoder
}

// start runs a server. Its standard error is ours, so that a panic or a race is seen.
func start(how, file, bug string) (*process, error) {
	p := &process{cmd: exec.Command(os.Args[0], "-test.run=^$"), end: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), envServe+"="+how, envFile+"="+file, envBug+"="+bug)
	p.cmd.Stderr = os.Stderr
	commandsR, commandsW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	reportsR, reportsW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.commands, p.reports, p.decoder = commandsW, reportsR, json.NewDecoder(reportsR)
	p.cmd.ExtraFiles = []*os.File{commandsR, reportsW}
	if how == "stdio" {
		if p.in, err = p.cmd.StdinPipe(); err != nil {
			return nil, err
		}
		// Not StdoutPipe, which Wait closes under the reader.
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		p.out, p.cmd.Stdout = r, w
		defer w.Close()
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	commandsR.Close()
	reportsW.Close()
	go func() {
		p.err = p.cmd.Wait()
		close(p.end)
	}()
	return p, nil
}

// tell asks a server for something.
func (p *process) tell(do, text string, state int) (report, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var r report
	if err := json.NewEncoder(p.commands).Encode(command{do, text, state}); err != nil {
		return r, err
	}
	if err := p.decoder.Decode(&r); err != nil {
		return r, err
	}
	if r.Err != "" {
		return r, errors.New(r.Err)
	}
	return r, nil
}

// gone waits until the process is gone by itself.
func (p *process) gone() error {
	select {
	case <-p.end:
		return nil
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.end
		return fmt.Errorf("the server has not ended in %v", patience)
	}
}

// kill ends the process as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.end
	p.release()
}

// release closes the parent's ends.
func (p *process) release() {
	if p.in != nil {
		p.in.Close()
		p.out.Close()
	}
	p.commands.Close()
	p.reports.Close()
}

// stop has the server end as it does when its client goes, and asserts that it does.
func (p *process) stop() error {
	if p.in != nil {
		p.in.Close()
	}
	p.commands.Close()
	err := p.gone()
	p.release()
	return errors.Join(err, p.err)
}
