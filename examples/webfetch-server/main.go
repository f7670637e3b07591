// Webfetch-server is an MCP server that fetches web pages and keeps text in a
// directory: the kind of server whose results steer a model, and through which
// data leaves. Everything it offers is under the default flow policy.
//
//	webfetch-server [-addr host:port | -stdio] [-uri URI] [-mode enforce|report|off] [-debug]
//	                [-overrides file] [-records file] [-dangerously-report-undeclared]
//	                [-dir directory] [-allow-host host[:port]]...
//
// The endpoint is /mcp, for both protocol eras, with and without a session;
// /healthz answers when the server is up. With -debug, GET /debug/invocations
// returns a JSON object of handler name to times run: fetch_page, upload_blob
// and notes://export{?data}. It needs no token, so -debug is for development.
// On stdio the same object is the last line on standard error.
//
// Pages are fetched from public addresses only. -allow-host names a host that
// may be anywhere, such as -allow-host localhost:8080. Proxy variables of the
// environment are not used, since a proxy would dial in the server's place.
//
// There are no tokens: whoever reaches the address may fetch and store through
// the server. An -addr that is not loopback is warned about. The line "listening
// on http://HOST:PORT/mcp" on standard error tells a client on this machine what
// to call: when every interface is listened on (:8080), HOST is 127.0.0.1.
//
// Without -dir, uploads go to a new temporary directory that is removed when
// the server ends.
package main

import (
	"context"
	"errors"
	"flag"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
	"github.com/flowgate-mcp/flowgate/middleware"
)

const (
	name        = "webfetch-server"
	version     = "0.1.0"
	defaultAddr = "127.0.0.1:8932"
	defaultURI  = "https://mcp.webfetch.example/mcp"

	// openWarning is the one for an address that others can reach.
	openWarning = "anybody who reaches this address may fetch pages and store text through it; listen on 127.0.0.1 to prevent that"
)

func main() { serve.Main(name, run) }

type options struct {
	serve.Options

	dir   string
	allow hostList
}

// run is the whole server, from its command line to its last answer.
func run(ctx context.Context, env serve.Env) (err error) {
	opts, err := parseOptions(env)
	if err != nil {
		return err
	}
	log := serve.Logger(env.Stderr, env, opts.Debug)
	kept, err := openBlobs(opts.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.close()) }()
	calls := serve.NewInvocations()
	mcpServer := newServer(&webfetch{pages: newFetcher(opts.allow), blobs: kept, calls: calls})
	log.Debug("ready to store", "directory", kept.dir)
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
		return serve.Stdio(ctx, gate, env, log, calls)
	}
	endpoint, err := gate.Handler(serve.MCPOptions(log)...)
	if err != nil {
		return err
	}
	web := serve.HTTP{MCP: endpoint, Open: openWarning, Calls: calls, Log: log, Stderr: env.Stderr}
	return web.Run(ctx, opts.Addr)
}

func parseOptions(env serve.Env) (options, error) {
	var opts options
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(env.Stderr)
	opts.Register(fs, defaultAddr, defaultURI)
	fs.StringVar(&opts.dir, "dir", "", "`directory` for uploads and notes (default a temporary one)")
	fs.Func("allow-host", "fetch from `host[:port]` even if its address is not public; may be repeated", opts.allow.add)
	err := opts.Parse(fs, env.Args)
	return opts, err
}
