package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/internal/peer"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

const probeUsage = `Usage: flowgate probe [FLAGS] -url URL -tool NAME
       flowgate probe [FLAGS] -tool NAME -stdio -- COMMAND ARGS...

Finds out whether origin labels arrive at a server and are enforced there. It reads
the policy that the server publishes for one tool, calls the tool with labels that
this policy must refuse, without a label, and with labels that say nothing, and
compares what comes back. A refusal names the contributors that the server saw, so a
gateway that strips _meta on the way shows at once. Each assurance state that the policy
refuses is tried, and over HTTP each such request is sent three times, on connections of
their own, because several servers may stand behind one URL.

WARNING: this calls a tool of a real server. Without -run only requests are sent that
the policy must refuse, and no more once one of them ran: a server that does not
enforce its policy does run the tool. With -run a request that the policy accepts is
sent too, and the tool runs for real. Choose a harmless tool, and harmless -args.
Nothing is sent without -run if no request is sure to be refused.

What a probe cannot know: whether everything behind a URL answers alike, whether the
server accepts somebody whom its policy does not name, and what a tool does that is
refused in words only.

Exit status: 0 the label arrives and is enforced, 1 anything else, 2 the server cannot
be reached or does not answer, has no such tool, or the flags are wrong.

Flags:
`

// probeFlags are the flags of probe.
type probeFlags struct {
	target
	tool   string
	args   json.RawMessage
	chosen bool // args are the user's
	self   string
	run    bool
	asJSON bool
}

func (p *probeFlags) register(fs *flag.FlagSet) {
	p.target.register(fs)
	p.args = json.RawMessage("{}")
	fs.StringVar(&p.tool, "tool", "", "`name` of the tool to call")
	fs.Func("args", "`JSON` object of arguments for the tool (default {})", func(s string) error {
		if !rawjson.IsObject([]byte(s)) {
			return errors.New("must be a JSON object")
		}
		p.args, p.chosen = json.RawMessage(s), true
		return nil
	})
	fs.StringVar(&p.self, "self", "", "the server's own `URI`, to try what the token self accepts")
	fs.BoolVar(&p.run, "run", false, "also send what the policy accepts: the tool runs for real")
	fs.BoolVar(&p.asJSON, "json", false, "print JSON for machines")
}

func (a *app) probe(ctx context.Context, args []string) (int, error) {
	fs := a.flags("probe", probeUsage)
	var p probeFlags
	p.register(fs)
	if err := a.parse(fs, args); err != nil {
		return statusMisuse, err
	}
	mistake := p.needed(fs.Args(), "arguments of the tool go into -args")
	if mistake == "" && p.tool == "" {
		mistake = "-tool is missing; flowgate validate lists the tools of a server"
	}
	if mistake != "" {
		return statusMisuse, a.misuse(fs, "%s", mistake)
	}
	ctx, cancel := p.bound(ctx)
	defer cancel()
	status, err := a.probeServer(ctx, &p)
	if err != nil {
		return a.fail(p.asJSON, "probe", p.overdue(ctx, err))
	}
	return status, nil
}

// probeServer connects, finds the tool and its policy, sends the requests and concludes.
func (a *app) probeServer(ctx context.Context, p *probeFlags) (int, error) {
	conn, err := a.dial(ctx, &p.target, true)
	if err != nil {
		return a.stripped(p, nil, err)
	}
	defer conn.Close()
	// Only the tools matter here, and an odd prompt must not stand in the way.
	w := watched{Conn: conn}
	r, err := inspect.RunTools(ctx, w.Call, conn.Hello())
	if err != nil {
		return statusMisuse, err
	}
	entry := r.Find(policydecl.Tool, p.tool)
	switch {
	case entry == nil && w.stripped != nil:
		return a.stripped(p, describeServer(conn, r.Server), w.stripped)
	case entry == nil:
		return statusMisuse, noSuchTool(p.tool, r)
	}
	if need := required(entry.Raw); p.run && !p.chosen && len(need) > 0 {
		return statusMisuse, needs(p.tool, need)
	}
	plan, err := newPlan(entry, &r.Server, p.self, a.nonce())
	if err != nil {
		return statusMisuse, err
	}
	plan.apart = !p.stdio
	plan.published(r, p.tool)
	var lost error
	if plan.sends(p.run) {
		a.warn(p, plan)
		lost = plan.send(ctx, conn, p, entry)
	}
	o := &probed{flags: p, server: describeServer(conn, r.Server), plan: plan, conclusion: plan.conclude(p.run)}
	for _, note := range versionNotes(conn) {
		o.conclusion.note("%s.", note)
	}
	if lost != nil {
		a.showProbe(o, false)
		return statusMisuse, lost
	}
	return a.concluded(o)
}

// concluded prints a probe that came to a conclusion.
func (a *app) concluded(o *probed) (int, error) {
	var err error
	if o.flags.asJSON {
		err = a.printJSON(o.json())
	} else {
		a.showProbe(o, true)
	}
	if o.conclusion.verdict == enforced {
		return statusOK, err
	}
	return statusFindings, err
}

// stripped is for a server that could not be asked: because params._meta does not arrive,
// which answers the question, or for another reason.
func (a *app) stripped(p *probeFlags, server *serverJSON, err error) (int, error) {
	var denied *peer.StrippedError
	if !errors.As(err, &denied) {
		return statusMisuse, err
	}
	o := &probed{flags: p, server: server, plan: &plan{}, conclusion: &conclusion{}}
	o.conclusion.denied(denied)
	return a.concluded(o)
}

// required returns the arguments that the declaration of a tool requires.
func required(raw []byte) []string {
	var tool struct {
		InputSchema struct {
			Required []string `json:"required"`
		} `json:"inputSchema"`
	}
	_ = json.Unmarshal(raw, &tool) // what cannot be read requires nothing
	return tool.InputSchema.Required
}

func needs(tool string, required []string) error {
	names := make([]string, 0, maxShown)
	for _, name := range required[:min(len(required), maxShown)] {
		names = append(names, quoted(name, 80))
	}
	if len(required) > maxShown {
		names = append(names, "...")
	}
	return fmt.Errorf("-run: %s requires the arguments %s; give them with -args", quoted(tool, 80), strings.Join(names, ", "))
}

func noSuchTool(name string, r *inspect.Report) error {
	if len(r.Entries) == 0 {
		return errors.New("-tool: the server lists no tools")
	}
	names := make([]string, 0, maxShown)
	for i := range r.Entries[:min(len(r.Entries), maxShown)] {
		names = append(names, shownName(r.Entries[i].Name))
	}
	if len(r.Entries) > maxShown {
		names = append(names, "...")
	}
	return fmt.Errorf("-tool: the server lists no tool %s; it lists %s", quoted(name, 80), strings.Join(names, ", "))
}

// warn says what is about to happen, on standard error.
func (a *app) warn(p *probeFlags, plan *plan) {
	text := "calls " + clean(p.tool, 80) + " with requests that its policy must refuse; a server that does not enforce it runs the tool"
	switch {
	case p.run && !plan.sure:
		text = "WARNING: calls " + clean(p.tool, 80) + " for real with the arguments " + clean(string(p.args), 120) + "; every request may run the tool"
	case p.run:
		text = "WARNING: calls " + clean(p.tool, 80) + " for real with the arguments " + clean(string(p.args), 120)
	}
	fmt.Fprintf(a.stderr, "flowgate probe: %s\n", text)
}

// repeats is how often a request that must be refused is sent over HTTP, each time on a
// connection of its own: behind one URL there may be several servers, and taking turns is
// how requests are given to them as a rule.
const repeats = 3

// send sends the requests, those that must be refused first, and keeps what comes back.
// The error is for a server that does not answer.
func (p *plan) send(ctx context.Context, conn *peer.Conn, flags *probeFlags, tool *inspect.Entry) error {
	for _, s := range p.shots {
		if s.accepted && !flags.run {
			continue
		}
		params := map[string]any{"name": flags.tool, "arguments": flags.args}
		if s.label != "" {
			params["_meta"] = map[string]any{policydecl.LabelKey: json.RawMessage(s.label)}
		}
		if judge.NeedsTask(tool.Raw) {
			params["task"] = map[string]any{}
		}
		for range p.times(s) {
			got, err := conn.Ask(ctx, string(mcp.MethodToolsCall), params, judge.ParamHeaders(tool.Raw, params))
			if err := s.record(got, err); err != nil {
				return err
			}
			if s.GotThrough() {
				break // it ran once too often already
			}
		}
		p.reconsider(s)
		if s.GotThrough() && !s.accepted && !flags.run {
			return nil
		}
	}
	return nil
}

// times returns how often a request is sent: what may run the tool, once.
func (p *plan) times(s *shot) int {
	if !p.apart || s.accepted || p.through() != nil {
		return 1
	}
	return repeats
}
