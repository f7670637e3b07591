package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	uriScheme       = "records://"
	customersURI    = uriScheme + customersTable
	customerPattern = uriScheme + customersTable + "/{id}"
	anyPattern      = uriScheme + "{+path}"
)

// mostSpecific is the handler of the catch-all. Of two templates that match
// mcp-go asks either, in no fixed order, so a customer may arrive here, and so
// does the list of customers with a query behind it. Both are passed on to the
// handlers that they belong to.
func mostSpecific(
	customers server.ResourceHandlerFunc,
	customer, others server.ResourceTemplateHandlerFunc,
) server.ResourceTemplateHandlerFunc {
	return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		switch table, _, one := split(req.Params.URI); {
		case table != customersTable:
			return others(ctx, req)
		case one:
			return customer(ctx, req)
		default:
			return customers(ctx, req)
		}
	}
}

// split takes records://table and records://table/id apart. It reads the URI
// as it stands, apart from a query or a fragment, which it ignores: no
// decoding, no dot segments, no other case.
func split(uri string) (table, id string, one bool) {
	path := strings.TrimPrefix(uri, uriScheme)
	if end := strings.IndexAny(path, "?#"); end >= 0 {
		path = path[:end]
	}
	return strings.Cut(path, "/")
}

// readRecords serves a table as CSV or one record as JSON.
func (r *records) readRecords(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	contents := mcp.TextResourceContents{URI: req.Params.URI}
	table, id, one := split(req.Params.URI)
	if !one {
		text, err := r.data.csv(table)
		if err != nil {
			return nil, err
		}
		contents.MIMEType, contents.Text = "text/csv", text
		return []mcp.ResourceContents{contents}, nil
	}
	found, err := r.data.get(table, id)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(found)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	contents.MIMEType, contents.Text = "application/json", string(text)
	return []mcp.ResourceContents{contents}, nil
}
