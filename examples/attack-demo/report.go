package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
	"github.com/flowgate-mcp/flowgate/internal/plain"
)

// reporter tells the story, to people or to machines, and counts what went wrong.
type reporter struct {
	out    io.Writer
	json   bool
	colour bool

	scenarios int
	count     map[outcome]int
	problems  []error
}

func newReporter(env serve.Env, asJSON bool) *reporter {
	return &reporter{
		out: env.Stdout, json: asJSON, count: make(map[outcome]int),
		colour: serve.Colourful(env.Stdout, env),
	}
}

// width is how wide a line may be, and indent how far what belongs to a scenario is in.
const (
	width  = 114
	indent = "   "
)

// layout is that of a row of the tables.
const layout = indent + "%-19s %-9s %-23s %-28s %-5s %s"

// begin says what is to be seen.
func (r *reporter) begin() {
	r.print("Servers: records (verified, stdio), webfetch (unverified, HTTP), mirror (a stranger's webfetch). A web page hides")
	r.print("an instruction; the model is a script and obeys whatever it reads. \"unchecked\": the host's own checks are off.")
}

// title opens the table of a scenario.
func (r *reporter) title(sc scenario) {
	r.scenarios++
	if r.scenarios == 1 {
		r.print("")
		r.print(strings.TrimRight(fmt.Sprintf(layout, "STEP", "SERVER", "TARGET", "WHAT HAPPENED", "SENT", "HANDLER RAN"), " "))
	}
	r.print(r.paint(bold, fmt.Sprintf("%d. %s: %s", r.scenarios, sc.name, sc.title)))
}

// stage reports the steps of a stage.
func (r *reporter) stage(s *session) {
	for _, res := range s.results {
		r.step(s.stage, res)
	}
	for _, what := range s.wrong {
		r.wrong(s.scenario, what)
	}
	if s.stage.tell != nil {
		for _, text := range s.stage.tell(s) {
			r.note(text)
		}
	}
}

// step reports one step. What comes from a page or a server is escaped (M3).
func (r *reporter) step(st stage, res result) {
	r.count[res.Outcome]++
	if r.json {
		text, err := json.Marshal(res)
		if err != nil {
			r.problems = append(r.problems, err)
		}
		fmt.Fprintf(r.out, "%s\n", text)
	} else {
		row := fmt.Sprintf(layout, res.Step, plainText(res.Server), plainText(res.Target), words[res.Outcome], yes(res.Sent), yes(res.HandlerRan))
		colour := ""
		switch {
		case st.off:
			colour = red
		case res.Outcome != allowed:
			colour = green
		}
		r.print(strings.TrimRight(strings.Replace(row, words[res.Outcome], r.paint(colour, words[res.Outcome]), 1), " "))
	}
	if res.problem != "" {
		r.wrong(res.Scenario+", "+res.Step, fmt.Sprintf("%s (sent: %s, handler ran: %s): %s", res.Outcome, yes(res.Sent), yes(res.HandlerRan), res.problem))
	}
}

// words are the outcomes for people.
var words = map[outcome]string{
	allowed:  "allowed",
	ceiling:  "blocked by host (ceiling)",
	precheck: "blocked by host (pre-check)",
	rejected: "rejected by server",
	failed:   "failed",
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// wrong reports something that did not come out as it must.
func (r *reporter) wrong(where, what string) {
	r.problems = append(r.problems, fmt.Errorf("%s: %s", where, what))
	r.print(r.paint(red, indent+"WRONG: "+what))
}

// note prints a text for people, over as many lines as it needs.
func (r *reporter) note(text string) {
	line := indent + "-"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > width && strings.TrimSpace(line) != "" {
			r.print(line)
			line = indent + " "
		}
		line += " " + word
	}
	r.print(line)
}

// end sums up. The error is everything that did not come out as it must.
func (r *reporter) end() error {
	if len(r.problems) > 0 {
		return fmt.Errorf("not everything came out as it must:\n%w", errors.Join(r.problems...))
	}
	all := r.count[allowed] + r.count[ceiling] + r.count[precheck] + r.count[rejected]
	r.print("")
	r.print(r.paint(bold, fmt.Sprintf("%d scenarios, %d steps, all as they must be: %d allowed, %d blocked by the host, %d rejected by a server.",
		r.scenarios, all, r.count[allowed], r.count[ceiling]+r.count[precheck], r.count[rejected])))
	return nil
}

// print prints a line for people.
func (r *reporter) print(line string) {
	if !r.json {
		fmt.Fprintln(r.out, line)
	}
}

// The colours of a terminal.
const (
	bold  = "\x1b[1m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	reset = "\x1b[0m"
)

func (r *reporter) paint(colour, text string) string {
	if !r.colour || colour == "" {
		return text
	}
	return colour + text + reset
}

// plainText makes a text from a peer fit for a terminal (M3).
func plainText(s string) string { return plain.Escape(s, 512) }
