package main

import (
	"errors"
	"fmt"
	"strconv"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// refusal is what the peer gets.
func (e *explanation) refusal() []byte {
	if e.invalid != nil {
		return e.invalidError()
	}
	v := e.decision.Violation()
	if v == nil {
		return nil
	}
	return v.AppendError(nil, 0, flowerrors.DetailFull)
}

func (e *explanation) verdict() string {
	switch {
	case e.invalid != nil:
		return "invalid"
	case e.decision.Accepted():
		return "accepted"
	}
	return "refused"
}

func (e *explanation) json() explainJSON {
	source := ""
	if e.byDefault {
		source = inspect.FromDraft.String()
	}
	out := explainJSON{
		Command: "explain", Policy: policyOf(e.policy, source), Self: e.self,
		Label:        labelJSON{e.class(), e.label.Complete()},
		Contributors: []contributorJSON{}, Verdict: e.verdict(), Error: e.refusal(),
		PolicyFaults: faultsJSON(e.policyFaults), LabelFaults: faultsJSON(e.labelFaults), Notes: append(append([]string{}, e.first...), e.notes...),
	}
	for _, x := range e.contributors {
		c := contributorJSON{
			Assurance: x.Contributor.Assurance().String(), Principal: x.Contributor.Principal(),
			Publisher: x.Contributor.Publisher(), Synthetic: x.Synthetic, Matched: x.Matched(), Tokens: []triedJSON{},
		}
		for _, t := range x.Tried {
			c.Tokens = append(c.Tokens, triedJSON{t.Token, t.Matches, t.Why})
		}
		out.Contributors = append(out.Contributors, c)
	}
	return out
}

// show prints the explanation for people.
func (e *explanation) show(a *app) {
	a.showFaults("The policy has mistakes:", e.policyFaults, 0)
	a.showFaults("The label has mistakes:", e.labelFaults, 0)
	for _, note := range e.first {
		fmt.Fprintf(a.stdout, "Note: %s.\n", note)
	}
	if len(e.first) > 0 {
		fmt.Fprintln(a.stdout)
	}
	policy := tokens(e.policy)
	if e.byDefault {
		policy += " (the draft's default)"
	}
	rows := [][]string{{"policy", policy}, {"label", e.labelLine()}}
	if e.self != "" {
		rows = append(rows, []string{"self", clean(e.self, 200)})
	}
	table(a.stdout, rows)
	fmt.Fprintln(a.stdout)
	for i, c := range e.contributors {
		e.showContributor(a, i, &c)
	}
	for _, note := range e.notes {
		fmt.Fprintf(a.stdout, "Note: %s.\n", note)
	}
	switch {
	case errors.Is(e.invalid, errNotJSON):
		fmt.Fprintf(a.stdout, "%s The request is not JSON, so the server answers with a parse error (%d), not with a refusal by flow policy.\n", a.paint(red, "Invalid."), codeParseError)
		return
	case e.invalid != nil:
		fmt.Fprintf(a.stdout, "%s The gate answers with an invalid request error (L8), not with a refusal by flow policy. The peer gets\n  %s\n", a.paint(red, "Invalid."), asciiJSON(string(e.refusal())))
		return
	case e.decision.Accepted():
		fmt.Fprintln(a.stdout, a.paint(green, "Accepted: every contributor matches a token."))
		return
	}
	fmt.Fprintln(a.stdout, a.paint(red, "Refused.")+" The peer gets")
	fmt.Fprintf(a.stdout, "  %s\nand its model may be told no more than %q\n", asciiJSON(string(e.refusal())), flowerrors.ModelText)
}

// class says how the label was read.
func (e *explanation) class() string {
	if e.invalid != nil {
		return "invalid"
	}
	return e.label.Class().String()
}

func (e *explanation) labelLine() string {
	if e.invalid != nil {
		return "invalid, so that the request with it is none"
	}
	switch e.label.Class() {
	case policydecl.ClassAbsent:
		return "none, which counts as one unverified contributor (L1)"
	case policydecl.ClassMalformed:
		return "malformed, which counts as one unverified contributor (L1, L2)"
	case policydecl.ClassIncomplete:
		return "incomplete, so an unverified contributor is added (L6)"
	}
	return "complete, with " + plural(e.label.Len(), "contributor", "contributors")
}

func (e *explanation) showContributor(a *app, i int, x *policydecl.Explanation) {
	who := describe(x.Contributor)
	if x.Synthetic {
		who += " (stands for what the label leaves out)"
	}
	line := strconv.Itoa(i+1) + ". " + who + ": "
	if token := x.Matched(); token != "" {
		for _, t := range x.Tried {
			if t.Matches {
				fmt.Fprintf(a.stdout, "%s%s by %s: %s\n\n", line, a.paint(green, "accepted"), clean(token, 120), t.Why)
				return
			}
		}
	}
	fmt.Fprintf(a.stdout, "%s%s\n", line, a.paint(red, "not accepted"))
	shown := x.Tried[:min(len(x.Tried), maxShown)]
	rows := make([][]string, 0, len(shown))
	for _, t := range shown {
		rows = append(rows, []string{"  ", clean(t.Token, 120), t.Why})
	}
	table(a.stdout, rows)
	if len(x.Tried) > len(shown) {
		fmt.Fprintf(a.stdout, "  and %d more tokens\n", len(x.Tried)-len(shown))
	}
	if len(x.Tried) == 0 {
		fmt.Fprintln(a.stdout, "  the policy accepts nobody")
	}
	fmt.Fprintln(a.stdout)
}

// describe names a contributor for people.
func describe(c policydecl.Contributor) string {
	who := c.Assurance().String()
	if p := c.Principal(); p != "" {
		who += " " + clean(p, 120)
	}
	if p := c.Publisher(); p != "" {
		who += ", publisher " + clean(p, 120)
	}
	principal, publisher := c.Unusable()
	if principal != "" {
		who += ", unusable principal " + principal
	}
	if publisher != "" {
		who += ", unusable publisher " + publisher
	}
	return who
}
