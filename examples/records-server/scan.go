package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// maxSteps bounds slow_scan. mcp-go queues at most 100 notifications for a
// session and drops what comes on top.
const maxSteps = 100

// slowScan checks all records in a number of steps, with a pause after each,
// and tells the client about every step if it asked to be told.
func (r *records) slowScan(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	asked, err := req.RequireFloat("steps")
	steps := int(asked)
	switch {
	case err != nil:
		return mcp.NewToolResultError(err.Error()), nil
	case asked < 1 || asked > maxSteps || float64(steps) != asked:
		return mcp.NewToolResultErrorf("steps must be an integer from 1 to %d", maxSteps), nil
	}
	rows := r.data.all()
	blank := 0
	for step := range steps {
		from, to := step*len(rows)/steps, (step+1)*len(rows)/steps
		blank += countBlank(rows[from:to])
		progress(ctx, req, step+1, steps)
		if err := pause(ctx, r.stepDelay); err != nil {
			return nil, fmt.Errorf("scan stopped after step %d of %d: %w", step+1, steps, err)
		}
	}
	return mcp.NewToolResultJSON(map[string]int{"steps": steps, "rows": len(rows), "blankFields": blank})
}

func countBlank(rows [][]string) (n int) {
	for _, row := range rows {
		for _, field := range row {
			if field == "" {
				n++
			}
		}
	}
	return n
}

// progress sends one progress notification if the request has a progress
// token. A client that cannot take it loses a hint and nothing else, so an
// error is of no interest here.
func progress(ctx context.Context, req mcp.CallToolRequest, step, steps int) {
	if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
		return
	}
	_ = server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
		"progressToken": req.Params.Meta.ProgressToken,
		"progress":      step,
		"total":         steps,
	})
}

// pause waits, or returns early with the reason why the call must stop.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
