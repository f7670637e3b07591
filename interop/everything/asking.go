package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// property is one member of a schema.
type property = map[string]any

func object(properties map[string]any, required ...string) map[string]any {
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// titled are the choices of an enumeration with a title for each.
func titled(word string) []any {
	var list []any
	for i, n := range []string{"First", "Second", "Third"} {
		list = append(list, map[string]any{"const": fmt.Sprintf("value%d", i+1), "title": n + " " + word})
	}
	return list
}

// The schemas of the elicitations that the suite describes.
var (
	schemaContact = object(map[string]any{
		"username": property{"type": "string", "description": "User's response"},
		"email":    property{"type": "string", "description": "User's email address"},
	}, "username", "email")
	schemaDefaults = object(map[string]any{
		"name":     property{"type": "string", "default": "John Doe"},
		"age":      property{"type": "integer", "default": 30},
		"score":    property{"type": "number", "default": 95.5},
		"status":   property{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
		"verified": property{"type": "boolean", "default": true},
	})
	schemaEnums = object(map[string]any{
		"untitledSingle": property{"type": "string", "enum": []string{"option1", "option2", "option3"}},
		"titledSingle":   property{"type": "string", "oneOf": titled("Option")},
		"legacyEnum":     property{"type": "string", "enum": []string{"opt1", "opt2", "opt3"}, "enumNames": []string{"Option One", "Option Two", "Option Three"}},
		"untitledMulti":  property{"type": "array", "items": property{"type": "string", "enum": []string{"option1", "option2", "option3"}}},
		"titledMulti":    property{"type": "array", "items": property{"anyOf": titled("Choice")}},
	})
)

// addAsking adds the tools that ask the client something while they work, for the protocol
// up to 2025-11-25. mcp-go makes a request of an answer that asks.
func addAsking(s *server.MCPServer) {
	s.AddTool(mcp.NewTool("test_sampling", mcp.WithDescription("asks the client's model"), mcp.WithString("prompt", mcp.Required())),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			const key = "answer"
			if answer := server.SamplingResponse(req.Params.InputResponses, key); answer != nil {
				return mcp.NewToolResultText("LLM response: " + spoken(answer)), nil
			}
			return server.NewInputRequestBuilder("").Sample(key, question(req.GetString("prompt", ""), 100)).ToolResult(), nil
		})
	elicits := func(name, label string, schema any, options ...mcp.ToolOption) {
		tool := mcp.NewTool(name, append(options, mcp.WithDescription("asks the user"))...)
		s.AddTool(tool, func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer, err := s.RequestElicitation(ctx, mcp.ElicitationRequest{Params: form(req.GetString("message", "Please fill this in."), schema)})
			if err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			content, err := json.Marshal(answer.Content)
			return mcp.NewToolResultText(fmt.Sprintf("%s: action=%s, content=%s", label, answer.Action, content)), err
		})
	}
	elicits("test_elicitation", "User response", schemaContact, mcp.WithString("message", mcp.Required()))
	elicits("test_elicitation_sep1034_defaults", "Elicitation completed", schemaDefaults)
	elicits("test_elicitation_sep1330_enums", "Elicitation completed", schemaEnums)
}

func form(message string, schema any) mcp.ElicitationParams {
	return mcp.ElicitationParams{Message: message, RequestedSchema: schema}
}

func question(prompt string, tokens int) mcp.CreateMessageParams {
	return mcp.CreateMessageParams{
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(prompt)}},
		MaxTokens: tokens,
	}
}

// spoken returns the text of a model's answer, however it was decoded.
func spoken(answer *mcp.CreateMessageResult) string {
	switch c := answer.Content.(type) {
	case mcp.TextContent:
		return c.Text
	case map[string]any:
		said, _ := c["text"].(string)
		return said
	}
	return ""
}
