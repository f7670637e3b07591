package main

import (
	"context"
	"runtime"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxHits bounds the records in one answer of search_records.
const maxHits = 50

// A handler answers mistakes in its arguments with a result that has isError
// set, which a model can read and act on, and not with a protocol error.

func (r *records) searchRecords(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	query, err := req.RequireString("query")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	hits, total := r.data.search(query, maxHits)
	return mcp.NewToolResultJSON(map[string]any{"hits": hits, "total": total})
}

func (r *records) exportRecords(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	table, err := req.RequireString("table")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	text, err := r.data.csv(table)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(text), nil
}

func (r *records) deleteRecord(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	id, err := req.RequireString("id")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	table, err := r.data.remove(id)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText("deleted " + id + " from " + table), nil
}

func (r *records) debugDump(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultJSON(map[string]any{
		"rows":        r.data.counts(),
		"invocations": r.calls.Snapshot(),
		"goVersion":   runtime.Version(),
		"goroutines":  runtime.NumGoroutine(),
	})
}

// reportRecords may be called with a task or without. It does not look at its
// context: mcp-go derives a task's context from that of the request which
// created it, and over HTTP that one ends with the first answer.
func (r *records) reportRecords(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	table, err := req.RequireString("table")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	report, err := r.data.report(table)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultJSON(report)
}

// archiveRecords only runs as a task. About its context see reportRecords.
func (r *records) archiveRecords(_ context.Context, req mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
	result, err := r.archiveTable(req)
	if err != nil {
		result = mcp.NewToolResultError(err.Error())
	}
	return &mcp.CreateTaskResult{
		Content:           result.Content,
		StructuredContent: result.StructuredContent,
		IsError:           result.IsError,
	}, nil
}

func (r *records) archiveTable(req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	table, err := req.RequireString("table")
	if err != nil {
		return nil, err
	}
	kept, err := r.data.archive(table)
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultJSON(kept)
}
