package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// png is an image of one pixel, and wav a sound of no length.
var (
	png = base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00\x3a\x7e\x9b\x55" +
		"\x00\x00\x00\nIDATx\x9cc`\x00\x00\x00\x02\x00\x01\x48\xaf\xa4\x71\x00\x00\x00\x00IEND\xaeB\x60\x82"))
	wav = base64.StdEncoding.EncodeToString([]byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00"))
)

// schema2020 uses what a typed reader of schemas tends to drop.
const schema2020 = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
  "properties": {
    "name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
    "contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}
  },
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]},
  "else": {"required": ["email"]},
  "additionalProperties": false
}`

// schemaHeaders has parameters that travel in headers too.
const schemaHeaders = `{
  "type": "object",
  "properties": {
    "region": {"type": "string", "x-mcp-header": "Region"},
    "priority": {"type": "integer", "x-mcp-header": "Priority"},
    "query": {"type": "string"}
  },
  "required": ["region"]
}`

func text(s string) mcp.Content { return mcp.NewTextContent(s) }

// addContents adds the tools that answer with content of each kind.
func addContents(s *server.MCPServer) {
	embedded := func(uri, kind, body string) mcp.Content {
		return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: uri, MIMEType: kind, Text: body})
	}
	for _, t := range []struct {
		name    string
		content []mcp.Content
	}{
		{"test_simple_text", []mcp.Content{text("This is a simple text response for testing.")}},
		{"test_image_content", []mcp.Content{mcp.NewImageContent(png, "image/png")}},
		{"test_audio_content", []mcp.Content{mcp.NewAudioContent(wav, "audio/wav")}},
		{"test_embedded_resource", []mcp.Content{embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")}},
		{"test_multiple_content_types", []mcp.Content{
			text("Multiple content types test:"), mcp.NewImageContent(png, "image/png"),
			embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
		}},
	} {
		s.AddTool(mcp.NewTool(t.name, mcp.WithDescription("answers with "+t.name)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: t.content}, nil
		})
	}
	s.AddTool(mcp.NewTool("test_error_handling", mcp.WithDescription("always fails")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("This tool intentionally returns an error for testing"), nil
	})
	for name, schema := range map[string]string{"json_schema_2020_12_tool": schema2020, "test_custom_headers": schemaHeaders} {
		s.AddTool(mcp.NewToolWithRawSchema(name, "answers with its arguments", json.RawMessage(schema)), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			raw, err := json.Marshal(req.GetArguments())
			return mcp.NewToolResultText(string(raw)), err
		})
	}
}

// pause is how long the suite wants a tool to wait between two notifications.
const pause = 50 * time.Millisecond

// wait waits for pause, or for the end of the request.
func wait(ctx context.Context) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// addNotifying adds the tools that send notifications while they work. They also wait
// after the last one: mcp-go drops now and then what is still on its way when the answer
// is there.
func addNotifying(s *server.MCPServer) {
	logs := func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			err := s.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "everything", message))
			if err != nil {
				return nil, err
			}
			if err := wait(ctx); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("logged"), nil
	}
	s.AddTool(mcp.NewTool("test_tool_with_logging", mcp.WithDescription("logs while it works")), logs)
	s.AddTool(mcp.NewTool("test_logging_tool", mcp.WithDescription("logs while it works")), logs)
	s.AddTool(mcp.NewTool("test_tool_with_progress", mcp.WithDescription("tells how far it is")), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, done := range []float64{0, 50, 100} {
			if meta := req.Params.Meta; meta != nil && meta.ProgressToken != nil {
				params := map[string]any{"progressToken": meta.ProgressToken, "progress": done, "total": 100}
				if err := s.SendNotificationToClient(ctx, string(mcp.MethodNotificationProgress), params); err != nil {
					return nil, err
				}
			}
			if err := wait(ctx); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("done"), nil
	})
}

// addChanging adds the tools that change what is listed.
func addChanging(s *server.MCPServer) {
	changes := func(name string, change func()) {
		s.AddTool(mcp.NewTool(name, mcp.WithDescription("changes a list")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			change()
			return mcp.NewToolResultText("changed"), nil
		})
	}
	changes("test_trigger_tool_change", func() {
		s.AddTool(mcp.NewTool("test_passing", mcp.WithDescription("comes and goes")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("here"), nil
		})
		s.DeleteTools("test_passing")
	})
	changes("test_trigger_prompt_change", func() {
		s.AddPrompt(mcp.NewPrompt("test_passing", mcp.WithPromptDescription("comes and goes")), func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return said(text("here")), nil
		})
		s.DeletePrompts("test_passing")
	})
}
