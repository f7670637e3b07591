// Everything is a server that offers whatever the server scenarios of the official MCP
// conformance suite ask for, with a gate in a mode of one's choice or without one. The
// answers are those that the suite describes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The values of -mode beside those of policydecl.ParseMode.
const noGate = "none"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, log io.Writer) error {
	fs := flag.NewFlagSet("everything", flag.ContinueOnError)
	addr := fs.String("addr", "127.0.0.1:0", "`address` to listen on")
	mode := fs.String("mode", noGate, "none serves without a gate; off, enforce or report with one in that mode")
	if err := fs.Parse(args); err != nil {
		return err
	}
	handler, err := newHandler(*mode)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = srv.Close() // the suite leaves streams open, so there is nothing to wait for
	}()
	fmt.Fprintf(log, "listening on http://%s/mcp\n", listener.Addr())
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newHandler serves everything in a mode.
func newHandler(mode string) (http.Handler, error) {
	s := newServer()
	if mode == noGate {
		return server.NewStreamableHTTPServer(s), nil
	}
	m, err := policydecl.ParseMode(mode)
	if err != nil {
		return nil, err
	}
	policy := policyIn(m)
	if err := govern(s, policy); err != nil {
		return nil, err
	}
	return middleware.Handler(s, middleware.Config{
		URI: "https://everything.example/mcp", Mode: m, Default: policy,
		Logger: slog.New(slog.DiscardHandler),
	})
}

// policyIn returns the policy for a mode. The suite does not label. Enforcing works by a
// policy that accepts who does not; in the other modes nothing must be refused although
// the policy would refuse all of it.
func policyIn(m middleware.Mode) policydecl.Policy {
	if m == middleware.Enforce {
		return policydecl.AcceptFrom("self", "user", "host", "verified", "tofu", "unverified")
	}
	return policydecl.AcceptFrom("self")
}

// govern gives some targets a policy of their own. The suite then sees declarations with
// a policy and others without one.
func govern(s *server.MCPServer, policy policydecl.Policy) error {
	var errs []error
	for _, t := range []struct {
		kind policydecl.TargetKind
		name string
	}{
		{policydecl.Tool, "test_simple_text"},
		{policydecl.Tool, "test_sampling"},
		{policydecl.Tool, "test_input_required_result_elicitation"},
		{policydecl.Resource, "test://static-text"},
		{policydecl.Template, "test://template/{id}/data"},
		{policydecl.Prompt, "test_prompt_with_arguments"},
	} {
		errs = append(errs, middleware.Govern(s, t.kind, t.name, policy))
	}
	return errors.Join(errs...)
}

func newServer() *server.MCPServer {
	s := server.NewMCPServer("everything", "1",
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true),
		server.WithCompletions(), server.WithLogging(), server.WithElicitation(), server.WithRoots(),
		server.WithTaskCapabilities(true, true, true),
	)
	s.EnableSampling()
	addContents(s)
	addNotifying(s)
	addAsking(s)
	addRounds(s)
	addTasks(s)
	addChanging(s)
	addResources(s)
	addPrompts(s)
	return s
}
