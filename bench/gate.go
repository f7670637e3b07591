package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Guard is what stands between a server and its peers.
type Guard string

// The guards.
const (
	Bare         Guard = "none"         // mcp-go alone
	Seams        Guard = "seams"        // mcp-go with functions that do nothing wherever the gate has one
	Hand         Guard = "hand"         // a middleware for tool handlers, written by hand
	Flowgate     Guard = "flowgate"     // the gate, with a logger that wants nothing
	FlowgateLog  Guard = "flowgate+log" // the gate, with a logger that writes every record as JSON to nowhere
	FlowgateSink Guard = "flowgate+sink"
)

// Guards lists the guards; Bare is the first.
func Guards() []Guard { return []Guard{Bare, Seams, Hand, Flowgate, FlowgateLog, FlowgateSink} }

// toolName is the tool that requests call. What else a server has is numbered.
const toolName = "search"

var toolTokens = []string{"self", "user", "verified"}

// load is how much a server has besides the one tool.
type load struct{ tools, templates int }

// site is a server behind a guard.
type site struct {
	server *server.MCPServer
	gate   *middleware.Gate // nil without one
}

// newSite builds a server. Its declarations are the same for every guard but for their
// policies, which only the gate has.
func newSite(guard Guard, l load) (*site, error) {
	s := &site{}
	var opts []server.ServerOption
	gated := false
	switch guard {
	case Bare:
	case Seams:
		opts = emptySeams()
	case Hand:
		opts = append(opts, server.WithToolHandlerMiddleware(byHand(toolTokens)))
	default:
		gated = true
	}
	s.server = server.NewMCPServer("records", "1", append(opts, server.WithToolCapabilities(false), server.WithResourceCapabilities(false, false))...)
	if err := s.declare(gated, l); err != nil || !gated {
		return s, err
	}
	cfg := middleware.Config{URI: ownURI, Logger: slog.New(slog.DiscardHandler)}
	switch guard {
	case FlowgateLog:
		cfg.Logger = slog.New(slog.NewJSONHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug}))
	case FlowgateSink:
		cfg.Sinks = []decision.Sink{decision.SinkFunc(func(context.Context, decision.Record) error { return nil })}
	}
	var err error
	s.gate, err = middleware.New(s.server, cfg)
	return s, err
}

func (s *site) declare(gated bool, l load) error {
	var policy policydecl.Policy
	if gated {
		policy = policydecl.AcceptFrom(toolTokens...)
	}
	var errs []error
	for i := range max(l.tools, 1) {
		name := toolName
		if i > 0 {
			name = fmt.Sprintf("%s%d", toolName, i)
		}
		if gated {
			errs = append(errs, middleware.AddTool(s.server, mcp.NewTool(name), policy, answer))
			continue
		}
		s.server.AddTool(mcp.NewTool(name), answer)
	}
	for i := range l.templates {
		t := mcp.NewResourceTemplate(fmt.Sprintf("records://table%d/{id}", i), "record")
		if gated {
			errs = append(errs, middleware.AddResourceTemplate(s.server, t, policy, read))
			continue
		}
		s.server.AddResourceTemplate(t, read)
	}
	return errors.Join(errs...)
}

// answer is the handler of every tool.
func answer(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(answerText), nil
}

const answerText = "ran"

// read is the handler of every template.
func read(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: answerText}}, nil
}

// emptySeams are the places inside mcp-go in which the gate stands for a tools/call, with
// nothing in them: what any guard costs that wants to see the message, its _meta, the tool
// and the answer.
func emptySeams() []server.ServerOption {
	hooks := &server.Hooks{}
	hooks.AddOnRequestInitialization(func(context.Context, any, any) error { return nil })
	hooks.AddBeforeCallTool(func(context.Context, any, *mcp.CallToolRequest) {})
	hooks.AddOnSuccess(func(context.Context, any, mcp.MCPMethod, any, any) {})
	hooks.AddOnError(func(context.Context, any, mcp.MCPMethod, any, error) {})
	return []server.ServerOption{
		server.WithHooks(hooks),
		server.WithMetaPropagator(emptyPropagator{}),
		server.WithToolFilter(func(_ context.Context, tools []mcp.Tool) []mcp.Tool { return tools }),
		server.WithToolHandlerMiddleware(func(next server.ToolHandlerFunc) server.ToolHandlerFunc { return next }),
	}
}

// emptyPropagator hands every request a context of its own, and nothing in it.
type emptyPropagator struct{}

// ExtractMeta returns a context that is the request's.
func (p emptyPropagator) ExtractMeta(ctx context.Context, _ *mcp.Meta) context.Context {
	return context.WithValue(ctx, p, p)
}

// InjectMeta does nothing.
func (emptyPropagator) InjectMeta(_ context.Context, meta *mcp.Meta) *mcp.Meta { return meta }

// byHand is what the author of a server might write in place of a gate: it looks at the label
// that mcp-go has decoded, takes assurances and principals as they are spelled, and answers
// with a tool result. Much of what the gate promises it does not do.
func byHand(acceptFrom []string) server.ToolHandlerMiddleware {
	accepted := make(map[string]bool, len(acceptFrom))
	for _, token := range acceptFrom {
		if token == "self" {
			token = ownURI
		}
		accepted[token] = true
	}
	return func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
		return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if !allContributors(req.Params.Meta, accepted) {
				return mcp.NewToolResultError(handText), nil
			}
			return next(ctx, req)
		}
	}
}

const handText = "origin not accepted"

func allContributors(meta *mcp.Meta, accepted map[string]bool) bool {
	if meta == nil {
		return false
	}
	label, _ := meta.AdditionalFields[policydecl.LabelKey].(map[string]any)
	list, _ := label["contributors"].([]any)
	for _, e := range list {
		c, _ := e.(map[string]any)
		assurance, _ := c["assurance"].(string)
		principal, _ := c["principal"].(string)
		if !accepted[assurance] && !accepted[principal] {
			return false
		}
	}
	return len(list) > 0 && label["complete"] == true
}

// message is one request.
type message struct {
	raw  []byte
	want string // a part of the answer
}

// Labels of requests.
var (
	acceptedLabel = label(byUser, servers(1)[0])
	refusedLabel  = label(byUser, byFetch)
)

// request returns the text of a request with a label. size is how long it is to be; it cannot
// be shorter than it is without filling.
func request(method, params, label string, size int) ([]byte, error) {
	build := func(fill string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + strings.ReplaceAll(params, "FILL", fill) +
			`,"_meta":{"` + policydecl.LabelKey + `":` + label + `}}}`
	}
	raw := []byte(build(strings.Repeat("x", max(0, size-len(build(""))))))
	if size > 0 && len(raw) != size {
		return nil, fmt.Errorf("bench: the message has %d bytes, not %d", len(raw), size)
	}
	return raw, nil
}

// call returns a call of the tool.
func call(guard Guard, accept bool, size int) (message, error) {
	label, want := acceptedLabel, answerText
	if !accept && guard != Bare && guard != Seams { // these refuse nothing
		label, want = refusedLabel, handText
		if guard != Hand {
			want = refusedText
		}
	}
	if !accept {
		label = refusedLabel
	}
	raw, err := request("tools/call", `"name":"`+toolName+`","arguments":{"query":"FILL"}`, label, size)
	return message{raw, want}, err
}

// refusedText is in every refusal that has its final form.
const refusedText = "flow policy"

// handle gives a message to the server itself.
func (s *site) handle(m message) error {
	reply := s.server.HandleMessage(context.Background(), json.RawMessage(m.raw))
	if reply == nil {
		return errors.New("bench: no answer")
	}
	return nil
}

// check does handle once and looks at the answer.
func (s *site) check(m message) error {
	raw, err := json.Marshal(s.server.HandleMessage(context.Background(), json.RawMessage(m.raw)))
	if err == nil && !strings.Contains(string(raw), m.want) {
		err = fmt.Errorf("bench: the answer is %s, without %q", raw, m.want)
	}
	return err
}
