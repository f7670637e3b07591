package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/host/mcpgo"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The servers, as the story and the model call them. mirror is a second web-fetch server of
// somebody else: a stranger to the first one.
const (
	records  = "records"
	webfetch = "webfetch"
	mirror   = "mirror"
)

// uris are the canonical URIs by which the host and the servers know them (RFC 8707).
var uris = map[string]string{
	records:  "https://mcp.records.example/mcp",
	webfetch: "https://mcp.webfetch.example/mcp",
	mirror:   "https://mcp.mirror.example/mcp",
}

const noteHandler = "notes://export{?data}"

// quiet keeps what mcp-go's transports log off the terminal: it can hold text of a peer (M3),
// and what goes wrong comes back as an error.
var quiet = slog.New(slog.DiscardHandler)

// openStdio starts a server as a child process and connects with it.
func (s *session) openStdio(ctx context.Context, server string) error {
	said := newStderr()
	inner := transport.NewStdioWithOptions(s.demo.path("records-server"), nil, s.args(server, "-stdio", "-debug"),
		transport.WithCommandLogger(quiet),
		transport.WithCommandFunc(func(_ context.Context, program string, _ []string, args []string) (*exec.Cmd, error) {
			cmd := s.demo.command(ctx, program, args...)
			cmd.Stderr = said // mcp-go's own reader would stop before the last line
			return cmd, nil
		}))
	w := &wire{}
	l := &line{wire: w}
	if err := s.connect(ctx, server, l, stdioWire{inner, w}); err != nil {
		return err
	}
	l.end = func() (invocations, error) {
		if err := l.client.Close(); err != nil { // waits for the child
			return nil, err
		}
		return said.invocations()
	}
	return nil
}

// openHTTP starts a server over Streamable HTTP and connects with it.
func (s *session) openHTTP(ctx context.Context, server string) error {
	r, err := s.demo.startRemote(ctx, "webfetch-server", s.args(server, "-dir", s.uploads(server), "-allow-host", s.demo.site.addr)...)
	if err != nil {
		return err
	}
	connections := &http.Transport{}
	inner, err := transport.NewStreamableHTTP(r.url, transport.WithHTTPBasicClient(&http.Client{Transport: connections}), transport.WithHTTPLogger(quiet))
	if err != nil {
		return errors.Join(err, r.stop())
	}
	w := &wire{}
	l := &line{wire: w}
	if err := s.connect(ctx, server, l, httpWire{inner, w}); err != nil {
		return errors.Join(err, r.stop())
	}
	l.end = func() (invocations, error) {
		ran, err := r.invocations(ctx)
		err = errors.Join(err, l.client.Close())
		connections.CloseIdleConnections()
		return ran, errors.Join(err, r.stop())
	}
	return nil
}

// args returns the arguments that a server is started with.
func (s *session) args(server string, more ...string) []string {
	args := append([]string{"-uri", uris[server]}, more...)
	if s.stage.off {
		args = append(args, "-mode", "off")
	}
	return args
}

// connect connects with a server: through the host, or as an application of today does.
func (s *session) connect(ctx context.Context, server string, l *line, inner transport.Interface) (err error) {
	var opts []client.ClientOption
	if s.stage.legacy {
		opts = append(opts, client.WithProtocolVersion("2025-11-25"))
	}
	info := mcp.Implementation{Name: name, Version: "0.1.0"}
	if s.host != nil {
		// How well the host knows a server is the host's own knowledge (H3).
		known := host.Server{URI: uris[server], Assurance: policydecl.Unverified}
		switch {
		case server == records:
			known.Assurance = policydecl.Verified
		case s.stage.tofu:
			known.Assurance = policydecl.TOFU
		}
		l.client, l.conn, err = mcpgo.Connect(ctx, s.host, known, inner, info, opts...)
	} else {
		l.client = client.NewClient(inner, opts...)
		if err = l.client.Start(ctx); err == nil {
			_, err = l.client.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{ClientInfo: info}})
		}
		if err != nil {
			_ = l.client.Close() // err is what went wrong
		}
	}
	if err != nil {
		return fmt.Errorf("connect: %+q", err.Error()) // it can be the server's text
	}
	s.lines[server] = l
	return nil
}

// methods are the MCP methods of what a text can tell the model to do.
var methods = map[string]string{
	"CALL": "tools/call", "TASK": "tools/call", "READ": "resources/read", "SUBSCRIBE": "resources/subscribe",
}

// do does one thing and returns the text of the answer.
func (l *line) do(ctx context.Context, o order) (string, error) {
	switch o.verb {
	case "READ":
		result, err := l.client.ReadResource(ctx, mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: o.target}})
		return textOf(result), err
	case "SUBSCRIBE":
		//lint:ignore SA1019 it is the request of the older protocol that is shown here
		err := l.client.Subscribe(ctx, mcp.SubscribeRequest{Params: mcp.SubscribeParams{URI: o.target}})
		return "", err
	case "TASK":
		return l.task(ctx, o)
	}
	result, err := l.client.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: o.target, Arguments: o.args}})
	return textOf(result), err
}

var taskIDs atomic.Int64

// task calls a tool as a task and waits for the result. mcp-go's CallTool starts a task and
// then fails, because it takes the answer for a result; so this goes by the transport, which
// is the wrapped one where there is a host.
func (l *line) task(ctx context.Context, o order) (string, error) {
	response, err := l.client.GetTransport().SendRequest(ctx, transport.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION,
		ID:      mcp.NewRequestId(fmt.Sprintf("task-%d", taskIDs.Add(1))), // the client's own are numbers
		Method:  methods[o.verb],
		Params:  map[string]any{"name": o.target, "arguments": o.args, "task": map[string]any{}},
	})
	if err != nil {
		return "", err
	}
	if response.Error != nil {
		return "", response.Error.AsError()
	}
	var created mcp.CreateTaskResult
	if err := json.Unmarshal(response.Result, &created); err != nil {
		return "", err
	}
	result, err := l.client.TaskResult(ctx, mcp.TaskResultRequest{Params: mcp.TaskResultParams{TaskId: created.Task.TaskId}})
	return textOf(result), err
}

// textOf returns the text of a result.
func textOf(result any) string {
	var of struct {
		Content  []struct{ Text string }
		Contents []struct{ Text string }
	}
	raw, err := json.Marshal(result)
	if err != nil || json.Unmarshal(raw, &of) != nil {
		return ""
	}
	var texts []string
	for _, c := range append(of.Content, of.Contents...) {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "\n")
}

// handlerOf returns the name under which a server counts the handler of a target. Nothing
// runs at a subscription; what would show one that gets through is the read.
func handlerOf(o order) string {
	if strings.HasPrefix(o.target, "notes://") {
		return noteHandler
	}
	return o.target
}
