// Package mcpgo puts package host between an agent application and mcp-go's client. Every
// request that the client sends is labelled from the partition in its context (H3), judged
// before it leaves (H5, H6), and its answer counts for that partition before the caller has
// it (H2).
//
//	records, conn, err := mcpgo.Connect(ctx, h, host.Server{URI: "https://records.example/mcp", Assurance: policydecl.Verified},
//		inner, mcp.Implementation{Name: "agent", Version: "1.0.0"})
//	if err != nil {
//		return "", err
//	}
//	defer records.Close()
//	turn := h.Open(host.Turn{From: []host.Sources{host.UserInput()}, Shown: []*host.Connection{conn}})
//	result, err := records.CallTool(host.WithPartition(ctx, turn), request)
//	if mcpgo.IsRefusal(err) {
//		return err.Error(), nil // all that the model may be told
//	}
//
// [NewClient] does the same for an application that starts and initialises its clients
// itself, and [Wrap] for one that uses transports without a client. inner is any transport
// of mcp-go: Streamable HTTP, stdio, legacy HTTP+SSE, in process. Its protocol may be that of
// 2025-11-25 and earlier or that of 2026-07-28.
//
// # What the adapter does by itself
//
// It reads policies from what the server sends, before mcp-go's types drop them: the
// answer to initialize or server/discover, and to every list that the application asks for.
//
// It asks for a list itself before a request whose policies have not been read, or have
// changed since, and does not send the request if the list cannot be read within
// [MaxPages], [MaxListBytes], [host.MaxDeclarations] and [ListTimeout] (H5). Requests that
// wait for one list share it. The list reaches no model, so it counts for no
// partition; an application that shows its model a list has to ask for it, and then it
// counts. Whatever else the server says meanwhile counts for every partition that waits:
// notifications and requests of its own reach the application (H2). A kind that the server does not announce, or whose list it does not know, has no
// declarations. A list that cannot be read for what is in it is not asked for again until
// the server says that it has changed, or the application has listed the kind to its end.
//
// It declares the client capability flow.origin in both of the draft's forms, in the
// initialize request and in the requests of the 2026-07-28 protocol.
//
// It turns every refusal, by whomever, into one and the same JSON-RPC error, which mcp-go's
// client returns as an error whose whole text is [flowerrors.ModelText] (H7).
//
// # What the application must do
//
// It must talk to the server through the wrapped transport alone: the inner one labels
// nothing. It must not set handlers on the inner one either, because a transport has room for
// one.
//
// It must wrap each transport with a connection of its own, and use a connection for one
// identity: a server may list other policies to other users.
//
// It must initialise each client; with client.WithSession, which skips that, nothing is
// known of the server, and nothing but what carries no content is sent.
//
// It must call [host.Connection.Heard] in the handlers that are given to an in-process
// transport as options, for sampling, elicitation and roots: the server calls them as Go
// functions, past any transport. Handlers that are given to the client need nothing.
//
// It should open a stream of notifications, which is a request that lasts, from a partition
// of its own that holds host text alone: whatever comes on it counts for that partition as
// long as it is open.
//
// It must show a model no other text of a refusal than that of the error. Whatever else a
// server says in an error is content of the server, and counts as such.
//
// # Limits
//
// A tool that asks for input in the protocol of 2026-07-28 is called again with the
// answer, from a context that now holds the server's question. A policy that accepts the user
// alone, and not self, refuses that.
//
// Without notifications, as in the protocol of 2026-07-28 before
// [github.com/mark3labs/mcp-go/client.Client.Listen], a changed policy is seen when the
// application lists again. The server's own gate applies it at once.
//
// A server that answers one request three times or more on its stream leaves a goroutine of
// mcp-go's HTTP transport behind, each time. What it says there reaches nobody.
package mcpgo
