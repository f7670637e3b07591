package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
)

const notePattern = "notes://export{?data}"

// webfetch holds what the handlers work on.
type webfetch struct {
	pages *fetcher
	blobs *blobs
	calls *serve.Invocations
}

// newServer builds the MCP server. Nothing in it knows of flow policies: what
// is registered with mcp-go alone is governed by the gate's default policy.
func newServer(w *webfetch) *server.MCPServer {
	s := server.NewMCPServer(name, version,
		server.WithTitle("Web fetch"),
		server.WithInstructions("Fetches public web pages and keeps text."),
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithLogging(),
		server.WithRecovery(),
		server.WithResourceRecovery(),
	)
	s.AddTool(mcp.NewTool("fetch_page",
		mcp.WithDescription("Fetch a page from the public web and return its text."),
		mcp.WithString("url", mcp.Required(), mcp.Description("An http or https URL")),
		mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithDestructiveHintAnnotation(false),
	), w.calls.Tool("fetch_page", w.fetchPage))
	s.AddTool(mcp.NewTool("upload_blob",
		mcp.WithDescription("Store text under a name that is made from its content."),
		mcp.WithString("content", mcp.Required(), mcp.Description("The text to store")),
		mcp.WithDestructiveHintAnnotation(false),
		mcp.WithIdempotentHintAnnotation(true),
	), w.calls.Tool("upload_blob", w.uploadBlob))
	s.AddResourceTemplate(mcp.NewResourceTemplate(notePattern, "note",
		mcp.WithTemplateDescription("Archives a note and answers with the name it is kept under."),
		mcp.WithTemplateMIMEType("text/plain"),
	), w.calls.Template(notePattern, w.archiveNote))
	return s
}

// fetchPage answers with the page's text and, after it, a line about where it
// came from. What went wrong is a result too, for the model to act on.
func (w *webfetch) fetchPage(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	url, err := req.RequireString("url")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	p, err := w.pages.fetch(ctx, url)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	about := fmt.Sprintf("%s from %s", p.mediaType, p.url)
	if p.cut {
		about += fmt.Sprintf(", cut after %d bytes", len(p.text))
	}
	return &mcp.CallToolResult{
		Content: []mcp.Content{mcp.NewTextContent(p.text), mcp.NewTextContent(about)},
	}, nil
}

func (w *webfetch) uploadBlob(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	content, err := req.RequireString("content")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	stored, err := w.blobs.put(content)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText("stored " + stored), nil
}

// archiveNote is a read that writes: the reason why reads are gated like
// calls. The note arrives in the URI and is stored before anything returns.
func (w *webfetch) archiveNote(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	values, _ := req.Params.Arguments["data"].([]string)
	if len(values) != 1 || values[0] == "" {
		return nil, errors.New("data is missing")
	}
	stored, err := w.blobs.put(values[0])
	if err != nil {
		return nil, err
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{
		URI:      req.Params.URI,
		MIMEType: "text/plain",
		Text:     "stored " + stored,
	}}, nil
}
