package main

import (
	"context"
	"errors"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// maxWork bounds what a client can make a tool wait.
const maxWork = time.Second

// addTasks adds the tools of the tasks extension. mcp-go has the tasks of 2025-11-25 and
// not that extension, so they run as ordinary calls where a client expects a task.
func addTasks(s *server.MCPServer) {
	add := func(name string, support mcp.TaskSupport, handler server.ToolHandlerFunc, options ...mcp.ToolOption) {
		options = append(options, mcp.WithDescription("a tool of the tasks extension"), mcp.WithTaskSupport(support))
		s.AddTool(mcp.NewTool(name, options...), handler)
	}
	confirms := func(keys ...string) server.ToolHandlerFunc {
		return func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ask, missing := server.NewInputRequestBuilder(""), false
			for _, key := range keys {
				if server.ElicitationResponse(req.Params.InputResponses, key) == nil {
					ask.Elicit(key, askOK)
					missing = true
				}
			}
			if missing {
				return ask.ToolResult(), nil
			}
			return mcp.NewToolResultText("done"), nil
		}
	}
	add("greet", mcp.TaskSupportForbidden, func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("Hello, " + req.GetString("name", "you") + "!"), nil
	}, mcp.WithString("name"))
	add("slow_compute", mcp.TaskSupportOptional, func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		work := min(time.Duration(req.GetFloat("seconds", 0)*float64(time.Second)), maxWork)
		select {
		case <-time.After(work):
			return mcp.NewToolResultText("computed"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}, mcp.WithNumber("seconds"))
	add("protocol_error_job", mcp.TaskSupportOptional, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("this tool always fails")
	})
	add("confirm_delete", mcp.TaskSupportOptional, confirms("confirm"), mcp.WithString("filename"))
	add("multi_input", mcp.TaskSupportOptional, confirms("first", "second"))
	add("test_tool_with_task", mcp.TaskSupportOptional, confirms("user_name"))
	s.AddTaskTool(mcp.NewTool("failing_job", mcp.WithDescription("a tool that is a task always"), mcp.WithTaskSupport(mcp.TaskSupportRequired)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
			return nil, errors.New("this task always fails")
		})
}
