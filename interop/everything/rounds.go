package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// stateKey signs what a client gets to keep between two rounds.
var stateKey = func() []byte {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return key
}()

func sign(state string) string {
	mac := hmac.New(sha256.New, stateKey)
	mac.Write([]byte(state))
	return state + "." + hex.EncodeToString(mac.Sum(nil))
}

// signed returns the state that was signed.
func signed(text string) (string, error) {
	state, _, _ := strings.Cut(text, ".")
	if !hmac.Equal([]byte(sign(state)), []byte(text)) {
		return "", errors.New("the request state is not the one that was handed out")
	}
	return state, nil
}

// The questions that the tools ask.
var (
	askName  = form("What is your name?", object(map[string]any{"name": property{"type": "string"}}, "name"))
	askOK    = form("Please confirm", object(map[string]any{"ok": property{"type": "boolean"}}, "ok"))
	askFirst = form("Step 1: What is your name?", object(map[string]any{"name": property{"type": "string"}}, "name"))
	askColor = form("Step 2: What is your favorite color?", object(map[string]any{"color": property{"type": "string"}}, "color"))
)

// field returns a text member of what a user filled in.
func field(answer *mcp.ElicitationResult, name string) (string, bool) {
	if answer == nil {
		return "", false
	}
	content, _ := answer.Content.(map[string]any)
	value, ok := content[name].(string)
	return value, ok
}

// addRounds adds the tools that answer with a question first, in the protocol of
// 2026-07-28.
func addRounds(s *server.MCPServer) {
	add := func(name string, answer func(mcp.CallToolParams) (*mcp.CallToolResult, error)) {
		s.AddTool(mcp.NewTool(name, mcp.WithDescription("asks before it answers")), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return answer(req.Params)
		})
	}
	needs := func(state string) *server.InputRequestBuilder { return server.NewInputRequestBuilder(state) }
	named := func(p mcp.CallToolParams) (*mcp.CallToolResult, error) {
		if name, ok := field(server.ElicitationResponse(p.InputResponses, "user_name"), "name"); ok {
			return mcp.NewToolResultText("Hello, " + name + "!"), nil
		}
		return needs("").Elicit("user_name", askName).ToolResult(), nil
	}
	add("test_input_required_result_elicitation", named)
	add("test_streaming_elicitation", named)
	sampled := func(key, prompt string) func(p mcp.CallToolParams) (*mcp.CallToolResult, error) {
		return func(p mcp.CallToolParams) (*mcp.CallToolResult, error) {
			if answer := server.SamplingResponse(p.InputResponses, key); answer != nil {
				return mcp.NewToolResultText(spoken(answer)), nil
			}
			return needs("").Sample(key, question(prompt, 100)).ToolResult(), nil
		}
	}
	add("test_input_required_result_sampling", sampled("capital_question", "What is the capital of France?"))
	s.AddTool(mcp.NewTool("test_missing_capability", mcp.WithDescription("needs sampling")), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if capabilities(req)["sampling"] == nil {
			return nil, mcp.MissingRequiredClientCapabilityError{Capability: "sampling"}
		}
		return mcp.NewToolResultText("not missing"), nil
	})
	add("test_input_required_result_list_roots", func(p mcp.CallToolParams) (*mcp.CallToolResult, error) {
		if answer := server.RootsResponse(p.InputResponses, "client_roots"); answer != nil {
			return mcp.NewToolResultText(rootList(answer)), nil
		}
		return needs("").Roots("client_roots").ToolResult(), nil
	})
	confirmed := func(p mcp.CallToolParams) (*mcp.CallToolResult, error) {
		if p.RequestState == "" {
			return needs(sign("asked")).Elicit("confirm", askOK).ToolResult(), nil
		}
		if _, err := signed(p.RequestState); err != nil {
			return nil, err
		}
		return mcp.NewToolResultText("state-ok"), nil
	}
	add("test_input_required_result_request_state", confirmed)
	add("test_input_required_result_tampered_state", confirmed)
	add("test_input_required_result_multiple_inputs", severalInputs)
	add("test_input_required_result_multi_round", severalRounds)
	s.AddTool(mcp.NewTool("test_input_required_result_capabilities", mcp.WithDescription("asks what the client can answer")), askCapable)
}

func rootList(answer *mcp.ListRootsResult) string {
	var uris []string
	for _, root := range answer.Roots {
		uris = append(uris, root.URI)
	}
	return "roots: " + strings.Join(uris, " ")
}

// severalInputs asks three things at once.
func severalInputs(p mcp.CallToolParams) (*mcp.CallToolResult, error) {
	name, named := field(server.ElicitationResponse(p.InputResponses, "user_name"), "name")
	greeting := server.SamplingResponse(p.InputResponses, "greeting")
	roots := server.RootsResponse(p.InputResponses, "client_roots")
	if !named || greeting == nil || roots == nil {
		return server.NewInputRequestBuilder(sign("several")).Elicit("user_name", askName).
			Sample("greeting", question("Generate a greeting", 50)).Roots("client_roots").ToolResult(), nil
	}
	if _, err := signed(p.RequestState); err != nil {
		return nil, err
	}
	return mcp.NewToolResultText(name + ": " + spoken(greeting) + " " + rootList(roots)), nil
}

// severalRounds asks one thing after another.
func severalRounds(p mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if p.RequestState == "" {
		return server.NewInputRequestBuilder(sign("round 1")).Elicit("step1", askFirst).ToolResult(), nil
	}
	state, err := signed(p.RequestState)
	if err != nil {
		return nil, err
	}
	if name, ok := field(server.ElicitationResponse(p.InputResponses, "step1"), "name"); ok && state == "round 1" {
		return server.NewInputRequestBuilder(sign("round 2 of "+name)).Elicit("step2", askColor).ToolResult(), nil
	}
	name, second := strings.CutPrefix(state, "round 2 of ")
	color, ok := field(server.ElicitationResponse(p.InputResponses, "step2"), "color")
	if !second || !ok {
		return nil, errors.New("this is no answer to the last question")
	}
	return mcp.NewToolResultText(fmt.Sprintf("%s likes %s", name, color)), nil
}

// askCapable asks only for what the client says that it can do.
func askCapable(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	can := capabilities(req)
	ask := server.NewInputRequestBuilder("")
	if can["elicitation"] != nil {
		ask.Elicit("user_name", askName)
	}
	if can["sampling"] != nil {
		ask.Sample("capital_question", question("What is the capital of France?", 100))
	}
	if can["roots"] != nil {
		ask.Roots("client_roots")
	}
	return ask.ToolResult(), nil
}

// capabilities returns what a client of 2026-07-28 says that it can do.
func capabilities(req mcp.CallToolRequest) map[string]any {
	meta := req.Params.Meta
	if meta == nil {
		return nil
	}
	can, _ := meta.AdditionalFields[mcp.MetaKeyClientCapabilities].(map[string]any)
	return can
}
