package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
)

// Stdio serves gate on env's standard input and output until the input ends or
// ctx does. Everything for people goes to standard error; with calls, also one
// last line `invocations {…}`, because stdio has no /debug/invocations.
func Stdio(ctx context.Context, gate *middleware.Gate, env Env, log *slog.Logger, calls *Invocations) error {
	log.Info("serving stdio")
	err := gate.Listen(ctx, env.Stdin, env.Stdout,
		server.WithErrorLogger(slog.NewLogLogger(log.Handler(), slog.LevelWarn)))
	if calls != nil {
		printInvocations(env.Stderr, calls)
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // we were asked to stop, and did
	}
	return err
}

func printInvocations(w io.Writer, calls *Invocations) {
	text, err := json.Marshal(calls.Snapshot())
	if err != nil {
		return // a map of strings to integers always encodes
	}
	fmt.Fprintf(w, "invocations %s\n", text)
}
