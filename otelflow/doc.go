// Package otelflow counts the decisions of a flow gate with OpenTelemetry and writes them
// on the active span (M2). [New] makes a [decision.Sink] that a gate is given beside its
// others:
//
//	sink, err := otelflow.New(otelflow.Config{MeterProvider: provider, Targets: 50})
//	if err != nil {
//		return nil, nil, err // every mistake in the Config
//	}
//	gate, err := middleware.New(s, middleware.Config{
//		URI:   "https://records.example/mcp",
//		Sinks: []decision.Sink{sink},
//	})
//
// It is a module of its own, so that flowgate itself does not depend on OpenTelemetry.
//
// # Metrics
//
// [MetricDecisions] counts requests by method, verdict, mode, reason and label class;
// [MetricTargets] counts them by what they asked for, up to a number of names that
// [Config.Targets] sets; [MetricDuration] is the gate's own time. A record counts for
// itself and for the alike ones that sampling left out; those are in [MetricSuppressed]
// besides. Requests of which the sink was told only that they were lost are in
// [MetricLost] and nowhere else, because nobody knows their kind.
//
// Nothing that a peer sends becomes a value of a metric attribute. Methods, verdicts,
// modes, reasons and label classes are closed sets, a target is the server's own word, and
// who asked is in none of them. So a peer cannot make series (M3).
//
// # Spans
//
// The sink starts no span. It sets attributes on the one that is active in the context with
// which the gate hands a record over. Of the gate for mcp-go that is the context of the
// request: where mcp-go traces (server.WithTracer), the span is the one that it has for the
// message, and else the one that an HTTP middleware around the gate has started. What the
// door turns away, and what mcp-go does not get to read, has only the latter. Names are those of the semantic conventions for MCP, GenAI and JSON-RPC where
// they have one, and begin with "flowgate." otherwise.
//
// mcp-go's own tracer (server.WithTracer) writes mcp.method, mcp.tool.name, mcp.session.id
// and mcp.protocol.version, of which the last two are conventional names. The protocol
// version is written by both, with the same meaning; the others are never written here.
//
// Texts of a peer are escaped and bounded ([decision.Shown]). The id of a session is not
// among them; the record has only its hash.
//
// A span that is not sampled, or has ended before a queued record gets here, is left as
// it is. Where the gate samples records, requests whose record was left out have no attributes.
//
// A span on which several decisions fall shows the last; but [KeyStopped] and
// [KeyWouldStop] are only ever set to true, so a search for them misses no request.
// That is also why there are attributes and no span event: a search needs no more, the
// records are logged as it is, and OpenTelemetry is moving events from spans to logs.
//
// # Status and error.type
//
// The sink does not set the status of a span, which belongs to whoever has started it. A
// refusal is an answer with HTTP status 200, so by the conventions the span of the HTTP
// request has neither an error status nor error.type; and mcp-go sets the status of its own
// span for every JSON-RPC error. [Config.MCPSpan] says that the active span stands for the
// MCP request instead, and then a request that was stopped has error.type: "flowgate.refused",
// "flowgate.invalid" or "flowgate.fault". The code of the JSON-RPC error is not set
// (rpc.response.status_code), because a record does not know it.
//
// None of this may reach a model (H7).
package otelflow
