// Package wire reads JSON-RPC 2.0 messages the way mcp-go's decoder does, and
// refuses the ones that two readers could take for different requests.
//
// mcp-go decodes with encoding/json: member names match without regard to
// case, Unicode folding included, and of several equal names the last one
// wins. A gate that reads one spelling while the server acts on another is no
// gate. So [ReadRequest] accepts only messages that have one reading (rule L8)
// and names the first thing that breaks this. What lies inside `arguments` is
// skipped unread: it belongs to the tool.
//
// The functions here make one pass, keep slices into the caller's bytes, never
// recurse per level of nesting without a bound, and never panic, whatever the
// bytes are. They are meant for text that encoding/json has found to be valid;
// on other text they return an error or a reading of no use, nothing worse.
//
// The package knows nothing of policies. It must stay free of any MCP SDK.
package wire
