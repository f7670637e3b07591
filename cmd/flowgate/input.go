package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/peer"
)

// maxInput is how large a file may be.
const maxInput = 16 << 20

// read returns the content of a file, or of standard input for "-". An interrupt ends
// it although a read does not.
func (a *app) read(ctx context.Context, name string) ([]byte, error) {
	type content struct {
		raw []byte
		err error
	}
	done := make(chan content, 1)
	go func() {
		raw, err := a.readAll(name)
		done <- content{raw, err}
	}()
	select {
	case c := <-done:
		return c.raw, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (a *app) readAll(name string) ([]byte, error) {
	in, what := a.stdin, shown(name)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %s", what, cause(err))
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %s", what, cause(err))
	case len(raw) > maxInput:
		return nil, fmt.Errorf("%s is larger than %d MiB, the limit", what, maxInput>>20)
	}
	return raw, nil
}

// shown names a file in messages.
func shown(name string) string {
	if name == "-" {
		return "standard input"
	}
	if strings.Contains(name, "://") {
		return peer.Address(name)
	}
	return clean(name, 200)
}

// cause leaves out what the message says already.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return clean(err.Error(), 200)
}

// argument returns what a flag's value stands for: @FILE is the file's content, "-" is
// standard input if that is allowed, and anything else itself.
func (a *app) argument(ctx context.Context, value string, stdin bool) ([]byte, error) {
	name, file := strings.CutPrefix(value, "@")
	if !file && (value != "-" || !stdin) {
		return []byte(value), nil
	}
	raw, err := a.read(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := mistaken(raw); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", shown(name), err)
	}
	return raw, nil
}
