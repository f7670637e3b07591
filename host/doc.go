// Package host is the half of flow policy that an agent application keeps (H1 to H7; what
// the numbers of rules mean is in docs/rules.md). It knows who has contributed to the context of a model, labels
// the requests that are built from it, and does not send what must not be sent. It knows no
// MCP SDK; package host/mcpgo connects it with mcp-go's client.
//
//	h, err := host.New(host.Config{Record: record})
//	if err != nil {
//		return err
//	}
//	records, err := h.Connect(host.Server{URI: "https://records.example/mcp", Assurance: policydecl.Verified})
//	if err != nil {
//		return err
//	}
//	turn := h.Open(host.Turn{From: []host.Sources{host.HostText(), host.UserInput()}})
//	ctx = host.WithPartition(ctx, turn)
//
// Requests that an adapter's client of the connection, here records, sends with ctx are
// labelled from here on.
//
// # What the application must do
//
// It must open a partition for every context of a model, and send the requests that are
// built from that context with it. It must call [Partition.Add] before the model reads
// anything that did not come through an adapter: a file, a search, the memory of an
// earlier conversation, with the [Sources] that were kept with it. A text of which nobody
// knows where it comes from has the zero Sources.
//
// It must keep the [Sources] of what a model has made: those of its partition at the time. A
// summary, a translation or a plan is derived from everything that the model had read, and an
// instruction that a page has hidden survives all of them. Starting clean means a partition
// of which the model has seen nothing else, and nothing derived from it.
//
// It must count what a server says of itself. The descriptions of tools, resources and prompts
// and a server's instructions are text that the server has written and the model reads. By
// default a server that the application has asked to describe itself counts for every
// partition, whichever it was asked from, because nobody knows where the answer is shown. An
// application that shows its model the tools of some servers only says so with
// [Turn.Shown].
//
// It must show the model of a refusal nothing but [Refusal.Error], which is one constant
// sentence, whoever refused. A reason is an oracle: a model that follows a hidden instruction
// could try until something passes. The [Record] is for people.
//
// It must not take anything that a server says about origins or assurance for true.
// [Server] is the host's own knowledge.
//
// # What this package does
//
// A request is not sent if its label cannot be attached, if the recipient's policies
// could not be read, if the recipient's policy refuses it, if content of a verified server would
// go to an unverified one, be it of the same URI, or if its tool has the name of another
// server's. It is not sent either until the server has said what it announces and its list
// of what the request is about was read; [Connection.NeedsList] says which. What is not sent
// is recorded, and so is what was sent, once.
//
// Policies are kept for each connection, as they came: [Connection.Hello] and
// [Connection.Page] take the raw text, because typed clients drop what they do not know. A
// policy that is loosened later has no effect until somebody agrees; until then the old one
// and the new one must both accept. What was published, and which server had the name of a
// tool first, is known to the host beyond the connection: the next one to a server of the
// same URI, assurance and publisher starts with it, for as long as the host lives and
// within [MaxServers]. What is kept of one server is bounded; see [MaxRemembered].
//
// # What it cannot do
//
// It cannot see what an application puts into a context behind its back. It does not look
// into texts, so it can neither clear nor accuse one. A recipient that is accepted on first
// use (tofu) gets content of verified servers; so says the draft. What a host answers to a
// server's own requests, such as sampling, is not a request and carries no label; a host that
// answers them should do so from a partition of their own.
//
// Some requests carry no label, because no server judges them (section 5
// of docs/rules.md). A model that is free to write their parameters could carry something out in them: the
// cursor of a list, the URI of a resources/unsubscribe, the data of a ping's _meta. An
// application writes those itself. The same goes for tasks: a request for a task that the
// server has named over the connection carries no label; see [Connection.Tasks]. Which of
// its tasks is asked for, and when, is all that it tells.
package host
