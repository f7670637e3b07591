// Package flowgate is the root of a module that lets a Go MCP server refuse a
// request because of where its data came from (draft SEP-3193). It has no API.
//
// Server authors start with package middleware, which gates a server built on
// github.com/mark3labs/mcp-go. The core that knows no MCP SDK is in policydecl
// (labels, policies, decisions), resourcematch (URIs) and errors (configuration
// mistakes and refusals).
package flowgate
