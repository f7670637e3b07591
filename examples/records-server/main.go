// Records-server is an MCP server over a small set of business records. It
// refuses requests whose origin label does not fit the flow policy of the
// tool, resource or prompt that they are for.
//
//	records-server [-addr host:port | -stdio] [-uri URI] [-mode enforce|report|off] [-debug]
//	               [-overrides file] [-records file] [-dangerously-report-undeclared]
//
// The endpoint is /mcp, for both protocol eras, with and without a session;
// /healthz answers when the server is up. With -debug, GET /debug/invocations
// returns a JSON object of handler name to times run: tools and prompts by
// name, resources and templates by URI or pattern, completions as
// complete:prompt and complete:resource. It needs no token, so -debug is for
// development. On stdio the same object is the last line on standard error.
//
// When the environment variable RECORDS_TOKENS is set, to
// token=role,token=role with the roles reader and admin, /mcp asks for one of
// those bearer tokens. Unset means everyone is an admin; set to something
// malformed, or to nothing, is an error at start-up. On stdio there is no
// token: the client is the user who started the process, and an admin.
//
// Without tokens, an -addr that is not loopback is warned about. The line
// "listening on http://HOST:PORT/mcp" on standard error tells a client on this
// machine what to call: when every interface is listened on (:8080), HOST is
// 127.0.0.1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
	"github.com/flowgate-mcp/flowgate/middleware"
)

const (
	name        = "records-server"
	version     = "0.1.0"
	defaultAddr = "127.0.0.1:8931"
	defaultURI  = "https://mcp.records.example/mcp"

	// openWarning is the one for an address that others can reach.
	openWarning = "anybody who reaches this address is an admin; set " + tokensVariable + " or listen on 127.0.0.1 to prevent that"
)

func main() { serve.Main(name, run) }

type options struct {
	serve.Options

	stepDelay time.Duration
}

// run is the whole server, from its command line to its last answer.
func run(ctx context.Context, env serve.Env) (err error) {
	opts, err := parseOptions(env)
	if err != nil {
		return err
	}
	log := serve.Logger(env.Stderr, env, opts.Debug)
	protect, warning, err := protection(env, log)
	if err != nil {
		return err
	}
	data, err := openStore(embedded)
	if err != nil {
		return err
	}
	calls := serve.NewInvocations()
	mcpServer := newServer(&records{data: data, calls: calls, stepDelay: opts.stepDelay})
	if !opts.Debug {
		calls = nil // counted, but not shown
	}

	// From here on the server is gated: nothing serves mcpServer itself.
	flow, err := opts.Flow(log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flow.Close()) }()
	gate, err := middleware.New(mcpServer, flow.Config)
	if err != nil {
		return err
	}
	flow.Follow(ctx, gate)
	if opts.Stdio {
		return serve.Stdio(withRole(ctx, admin), gate, env, log, calls)
	}
	endpoint, err := gate.Handler(serve.MCPOptions(log)...)
	if err != nil {
		return err
	}
	web := serve.HTTP{MCP: endpoint, Protect: protect, Open: warning, Calls: calls, Log: log, Stderr: env.Stderr}
	return web.Run(ctx, opts.Addr)
}

func parseOptions(env serve.Env) (options, error) {
	var opts options
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(env.Stderr)
	opts.Register(fs, defaultAddr, defaultURI)
	fs.DurationVar(&opts.stepDelay, "step-delay", 50*time.Millisecond, "pause of slow_scan after each step")
	fs.Usage = func() {
		fmt.Fprintf(fs.Output(), "Usage of %s:\n", name)
		fs.PrintDefaults()
		fmt.Fprintf(fs.Output(), "Environment:\n  %s\n    \tbearer tokens to ask for over HTTP: %s (unset: everyone is an admin)\n",
			tokensVariable, tokensForm)
	}
	err := opts.Parse(fs, env.Args)
	return opts, err
}

// protection is the server's own authorization over HTTP, and what to warn of
// where others can reach a server that has none. Set to nothing is
// not the same as not set: an empty list of tokens admits nobody.
func protection(env serve.Env, log *slog.Logger) (protect []func(http.Handler) http.Handler, warning string, err error) {
	text, set := env.LookupEnv(tokensVariable)
	if !set {
		log.Debug("no tokens: everyone is an admin", "variable", tokensVariable)
		return []func(http.Handler) http.Handler{grant(admin)}, openWarning, nil
	}
	list, err := parseTokens(text)
	if err != nil {
		return nil, "", err
	}
	return []func(http.Handler) http.Handler{requireToken(list)}, "", nil
}
