package main

import (
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// maxTasks bounds the tasks that may run at one time.
const maxTasks = 64

// records holds what the handlers work on.
type records struct {
	data      *store
	calls     *serve.Invocations
	stepDelay time.Duration // of slow_scan
}

// newServer builds the MCP server. A target with a policy of its own is
// registered through package middleware; what is registered with mcp-go
// directly is governed by the gate's default policy.
//
// The helpers' errors are left to the gate, which reports them together with every
// other mistake when it is built.
func newServer(r *records) *server.MCPServer {
	s := server.NewMCPServer(name, version,
		server.WithTitle("Records"),
		server.WithInstructions("Business records: customers, orders, invoices and products."),
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true),
		server.WithTaskCapabilities(true, true, true),
		server.WithMaxConcurrentTasks(maxTasks),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(r),
		server.WithResourceCompletionProvider(r),
		server.WithLogging(),
		server.WithRecovery(),
		server.WithResourceRecovery(),
		server.WithToolFilter(hideFromReaders("debug_dump")),
		server.WithToolHandlerMiddleware(adminOnly("delete_record")),
	)
	r.calls.Declare(serve.CompletePrompt)
	r.calls.Declare(serve.CompleteResource)
	r.addTools(s)
	r.addResources(s)
	r.addPrompts(s)
	return s
}

// addTools registers the tools.
func (r *records) addTools(s *server.MCPServer) {
	selfOrUser := policydecl.AcceptFrom("self", "user")
	table := mcp.WithString("table", mcp.Required(), mcp.Description("Name of the table"))

	s.AddTool(mcp.NewTool("search_records",
		mcp.WithDescription("Find records with a field that contains the query, in any case."),
		mcp.WithString("query", mcp.Required(), mcp.Description("Text to look for")),
		readOnly(),
	), r.calls.Tool("search_records", r.searchRecords))

	s.AddTool(mcp.NewTool("slow_scan",
		mcp.WithDescription("Check every record, step by step, and report progress."),
		mcp.WithInteger("steps", mcp.Required(), mcp.Min(1), mcp.Max(maxSteps), mcp.Description("Number of steps")),
		readOnly(),
	), r.calls.Tool("slow_scan", r.slowScan))

	middleware.AddTool(s, mcp.NewTool("export_records",
		mcp.WithDescription("Return a whole table as CSV."), table, readOnly(),
	), selfOrUser, r.calls.Tool("export_records", r.exportRecords))

	middleware.AddTool(s, mcp.NewTool("delete_record",
		mcp.WithDescription("Delete one record. Needs the role admin."),
		mcp.WithString("id", mcp.Required(), mcp.Description("Id of the record")),
		mcp.WithOpenWorldHintAnnotation(false),
	), policydecl.AcceptFrom("user"), r.calls.Tool("delete_record", r.deleteRecord))

	middleware.AddTool(s, mcp.NewTool("debug_dump",
		mcp.WithDescription("Return the server's own state. Needs the role admin."), readOnly(),
	), policydecl.AcceptFrom("host"), r.calls.Tool("debug_dump", r.debugDump))

	middleware.AddTool(s, mcp.NewTool("report_records",
		mcp.WithDescription("Sum up a table without showing its records."), table, readOnly(),
		mcp.WithTaskSupport(mcp.TaskSupportOptional),
	), selfOrUser, r.calls.Tool("report_records", r.reportRecords))

	middleware.AddTaskTool(s, mcp.NewTool("archive_records",
		mcp.WithDescription("Keep a compressed copy of a table."), table,
		mcp.WithDestructiveHintAnnotation(false), mcp.WithOpenWorldHintAnnotation(false),
		mcp.WithTaskSupport(mcp.TaskSupportRequired),
	), selfOrUser, r.calls.TaskTool("archive_records", r.archiveRecords))
}

// addResources registers the resources and templates.
func (r *records) addResources(s *server.MCPServer) {
	selfOrUser := policydecl.AcceptFrom("self", "user")

	customers := r.calls.Resource(customersURI, r.readRecords)
	customer := r.calls.Template(customerPattern, r.readRecords)
	others := r.calls.Template(anyPattern, r.readRecords)

	// The catch-all has no policy of its own, and the gate does not need to be
	// told where its space and that of the others overlap: it decides by the
	// URI and applies every policy that governs it, whichever handler runs.
	s.AddResourceTemplate(mcp.NewResourceTemplate(anyPattern, "records",
		mcp.WithTemplateDescription("A table (orders) as CSV, or one record (orders/o-1001) as JSON."),
	), mostSpecific(customers, customer, others))

	middleware.AddResource(s, mcp.NewResource(customersURI, "customers",
		mcp.WithResourceDescription("All customers."), mcp.WithMIMEType("text/csv"),
	), selfOrUser, customers)

	middleware.AddResourceTemplate(s, mcp.NewResourceTemplate(customerPattern, "customer",
		mcp.WithTemplateDescription("One customer."), mcp.WithTemplateMIMEType("application/json"),
	), selfOrUser, customer)
}

// addPrompts registers the prompt.
func (r *records) addPrompts(s *server.MCPServer) {
	middleware.AddPrompt(s, mcp.NewPrompt(summarizePrompt,
		mcp.WithPromptDescription("Summarise one customer with orders and invoices."),
		mcp.WithArgument("id", mcp.RequiredArgument(), mcp.ArgumentDescription("Id of the customer")),
	), policydecl.AcceptFrom("user"), r.calls.Prompt(summarizePrompt, r.summarizeCustomer))
}

// readOnly marks a tool that changes nothing and stays inside the server.
func readOnly() mcp.ToolOption {
	return func(t *mcp.Tool) {
		mcp.WithReadOnlyHintAnnotation(true)(t)
		mcp.WithDestructiveHintAnnotation(false)(t)
		mcp.WithIdempotentHintAnnotation(true)(t)
		mcp.WithOpenWorldHintAnnotation(false)(t)
	}
}
