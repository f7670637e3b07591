package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// addResources adds the resources and the template that the suite reads.
func addResources(s *server.MCPServer) {
	s.AddResource(mcp.NewResource("test://static-text", "static-text", mcp.WithResourceDescription("a text"), mcp.WithMIMEType("text/plain")),
		func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{
				URI: req.Params.URI, MIMEType: "text/plain", Text: "This is the content of the static text resource.",
			}}, nil
		})
	s.AddResource(mcp.NewResource("test://static-binary", "static-binary", mcp.WithResourceDescription("an image"), mcp.WithMIMEType("image/png")),
		func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.BlobResourceContents{URI: req.Params.URI, MIMEType: "image/png", Blob: png}}, nil
		})
	s.AddResource(mcp.NewResource("test://watched-resource", "watched-resource", mcp.WithResourceDescription("what can be subscribed to"), mcp.WithMIMEType("text/plain")),
		func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: "unchanged"}}, nil
		})
	s.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template", mcp.WithTemplateDescription("a text for an id"), mcp.WithTemplateMIMEType("application/json")),
		func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			return []mcp.ResourceContents{mcp.TextResourceContents{
				URI: req.Params.URI, MIMEType: "application/json",
				Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":%q}`, id, "Data for ID: "+id),
			}}, nil
		})
}

// said is a prompt in the user's words.
func said(contents ...mcp.Content) *mcp.GetPromptResult {
	result := &mcp.GetPromptResult{}
	for _, c := range contents {
		result.Messages = append(result.Messages, mcp.NewPromptMessage(mcp.RoleUser, c))
	}
	return result
}

// addPrompts adds the prompts that the suite gets.
func addPrompts(s *server.MCPServer) {
	add := func(name string, answer func(mcp.GetPromptParams) *mcp.GetPromptResult, arguments ...string) {
		options := []mcp.PromptOption{mcp.WithPromptDescription("a prompt of the suite")}
		for _, a := range arguments {
			options = append(options, mcp.WithArgument(a, mcp.RequiredArgument(), mcp.ArgumentDescription("a text")))
		}
		s.AddPrompt(mcp.NewPrompt(name, options...), func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return answer(req.Params), nil
		})
	}
	add("test_simple_prompt", func(mcp.GetPromptParams) *mcp.GetPromptResult {
		return said(text("This is a simple prompt for testing."))
	})
	add("test_prompt_with_arguments", func(p mcp.GetPromptParams) *mcp.GetPromptResult {
		return said(text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", p.Arguments["arg1"], p.Arguments["arg2"])))
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(p mcp.GetPromptParams) *mcp.GetPromptResult {
		return said(mcp.NewEmbeddedResource(mcp.TextResourceContents{
			URI: p.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing.",
		}), text("Please process the embedded resource above."))
	}, "resourceUri")
	add("test_prompt_with_image", func(mcp.GetPromptParams) *mcp.GetPromptResult {
		return said(mcp.NewImageContent(png, "image/png"), text("Please analyze the image above."))
	})
	add("test_input_required_result_prompt", func(p mcp.GetPromptParams) *mcp.GetPromptResult {
		if answer, ok := field(server.ElicitationResponse(p.InputResponses, "user_context"), "context"); ok {
			return said(text("In the context " + answer))
		}
		ask := form("What context should the prompt use?", object(map[string]any{"context": property{"type": "string"}}, "context"))
		return server.NewInputRequestBuilder("").Elicit("user_context", ask).PromptResult()
	})
}
