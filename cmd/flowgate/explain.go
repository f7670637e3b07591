package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

const explainUsage = `Usage: flowgate explain -policy POLICY [-label LABEL] [-self URI]

Says for each contributor of an origin label which token of a flow policy accepts
it or, if none does, why each does not; then the verdict and, if it is a refusal,
what the peer gets. Mistakes in the policy or the label are reported too.

POLICY is JSON, tokens with commas between (self,user), or @FILE; null is no policy,
for which the draft's default stands in, and '' accepts nobody. LABEL is JSON, @FILE,
or - for standard input; null or '' is no label.

Vendor tokens such as com.example.tier:gold are decided by a matcher in the server.
explain has none, so here they match nothing.

Exit status: 0 accepted, 1 refused or mistakes found, 2 wrong flags or unreadable file.

Flags:
`

// placeholderSelf stands for the server's URI where it does not matter.
const placeholderSelf = "https://self.invalid/"

// explainJSON is what explain -json prints.
type explainJSON struct {
	Command      string            `json:"command"` // explain
	Policy       policyJSON        `json:"policy"`  // that was applied
	Label        labelJSON         `json:"label"`
	Self         string            `json:"self,omitempty"`
	Contributors []contributorJSON `json:"contributors"`
	Verdict      string            `json:"verdict"`         // accepted or refused
	Error        json.RawMessage   `json:"error,omitempty"` // the JSON-RPC error that the peer gets
	PolicyFaults []findingJSON     `json:"policyFindings"`
	LabelFaults  []findingJSON     `json:"labelFindings"`
	Notes        []string          `json:"notes"` // for people; the wording may change
}

// labelJSON says how the label was read (L9).
type labelJSON struct {
	Class    string `json:"class"` // ok, absent, malformed or incomplete
	Complete bool   `json:"complete"`
}

// contributorJSON is one contributor and how it fared.
type contributorJSON struct {
	Assurance string      `json:"assurance"`
	Principal string      `json:"principal,omitempty"`
	Publisher string      `json:"publisher,omitempty"`
	Synthetic bool        `json:"synthetic,omitempty"` // stands for what the label leaves out (L1, L6)
	Matched   string      `json:"matched,omitempty"`   // the token that accepts it
	Tokens    []triedJSON `json:"tokens"`
}

// triedJSON is one token held against one contributor.
type triedJSON struct {
	Token   string `json:"token"`
	Matches bool   `json:"matches"`
	Why     string `json:"why"` // for people; the wording may change
}

// explanation is everything explain found out.
type explanation struct {
	policy       policydecl.Policy
	label        policydecl.Label
	self         string
	contributors []policydecl.Explanation
	decision     policydecl.Decision
	policyFaults []policydecl.Fault
	labelFaults  []policydecl.Fault
	notes        []string
}

func (a *app) explain(ctx context.Context, args []string) (int, error) {
	fs := a.flags("explain", explainUsage)
	given := false
	var policyText string
	fs.Func("policy", "the `policy`: JSON, tokens with commas between, or @FILE", func(s string) error {
		policyText, given = s, true
		return nil
	})
	labelText := fs.String("label", "", "the `label`: JSON, @FILE or -; null or '' is no label")
	self := fs.String("self", "", "the server's own `URI`, which the token self stands for")
	asJSON := fs.Bool("json", false, "print JSON for machines")
	if err := a.parse(fs, args); err != nil {
		return statusMisuse, err
	}
	switch {
	case fs.NArg() > 0:
		return statusMisuse, a.misuse(fs, "unexpected argument %s", quoted(fs.Arg(0), 80))
	case !given:
		return statusMisuse, a.misuse(fs, "-policy is missing; write for example -policy self,user")
	}
	policy, err := a.argument(ctx, policyText, false)
	if err != nil {
		return a.fail(*asJSON, "explain", err)
	}
	label, err := a.argument(ctx, *labelText, true)
	if err != nil {
		return a.fail(*asJSON, "explain", err)
	}
	e, err := explain(ctx, policy, bytes.TrimSpace(label), *self)
	if err != nil {
		return a.fail(*asJSON, "explain", err)
	}
	if *asJSON {
		return e.status(), a.printJSON(e.json())
	}
	e.show(a)
	return e.status(), nil
}

// explain evaluates a label under a policy and keeps the reasons.
func explain(ctx context.Context, policyText, labelText []byte, self string) (*explanation, error) {
	e := &explanation{self: self}
	var err error
	if e.policy, e.policyFaults, err = readPolicyArgument(policyText); err != nil {
		return nil, err
	}
	if len(e.policyFaults) > 0 {
		e.notes = append(e.notes, "a server would not start with this policy; it is applied here as a host reads it")
	}
	uri := self
	if uri == "" {
		uri = placeholderSelf
		for _, token := range e.policy.Tokens() {
			if token == "self" {
				return nil, errors.New("-self is missing: the policy accepts self, which stands for the server's own URI")
			}
		}
	}
	set, err := policydecl.Compile(policydecl.Config{URI: uri})
	if err != nil {
		return nil, fmt.Errorf("-self: %w", err)
	}
	if len(labelText) > 0 && string(labelText) != "null" {
		e.labelFaults = policydecl.ValidateLabel(labelText, policydecl.Limits{})
		e.label = policydecl.ParseLabel(labelText, policydecl.Limits{})
	}
	for _, token := range vendorTokens(set, e.policy) {
		e.notes = append(e.notes, "explain has no matcher for "+clean(token, 80)+", so it matches nothing here; the server's may decide otherwise")
	}
	e.contributors = set.Explain(ctx, &e.label, e.policy)
	e.decision = set.Decide(ctx, &e.label, e.policy)
	return e, ctx.Err()
}

// readPolicyArgument reads the policy as a host does and reports what its author would
// be told (P6).
func readPolicyArgument(text []byte) (policydecl.Policy, []policydecl.Fault, error) {
	text = bytes.TrimSpace(text)
	switch {
	case string(text) == "null":
		return policydecl.Default(), nil, nil
	case len(text) == 0:
		return policydecl.AcceptFrom(), nil, nil
	case !strings.ContainsRune(`{["`, rune(text[0])):
		tokens := strings.Split(string(text), ",")
		for i := range tokens {
			tokens[i] = strings.TrimSpace(tokens[i])
		}
		var err error
		if text, err = json.Marshal(map[string][]string{"acceptFrom": tokens}); err != nil {
			return policydecl.Policy{}, nil, err
		}
	}
	faults := policydecl.ValidatePolicy(text)
	var v any
	if json.Unmarshal(text, &v) != nil {
		v = "" // no policy at all, so the default stands in, with the fault beside it
	}
	p, _ := policydecl.ReadPublished(v, policydecl.Policy{}) // ValidatePolicy has the faults
	return p, faults, nil
}

// vendorTokens returns the tokens that are well formed but need a matcher (P3).
func vendorTokens(set *policydecl.Set, p policydecl.Policy) []string {
	var list []string
	for _, token := range p.Tokens() {
		one := policydecl.AcceptFrom(token)
		if one.Err() == nil && set.Check(one) != nil {
			list = append(list, token)
		}
	}
	return list
}

func (e *explanation) status() int {
	if !e.decision.Accepted() || len(e.policyFaults)+len(e.labelFaults) > 0 {
		return statusFindings
	}
	return statusOK
}

// refusal is what the peer gets.
func (e *explanation) refusal() []byte {
	v := e.decision.Violation()
	if v == nil {
		return nil
	}
	return v.AppendError(nil, 0, flowerrors.DetailFull)
}

func (e *explanation) verdict() string {
	if e.decision.Accepted() {
		return "accepted"
	}
	return "refused"
}

func (e *explanation) json() explainJSON {
	out := explainJSON{
		Command: "explain", Policy: policyOf(e.policy, ""), Self: e.self,
		Label:        labelJSON{e.label.Class().String(), e.label.Complete()},
		Contributors: []contributorJSON{}, Verdict: e.verdict(), Error: e.refusal(),
		PolicyFaults: faultsJSON(e.policyFaults), LabelFaults: faultsJSON(e.labelFaults), Notes: append([]string{}, e.notes...),
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
	rows := [][]string{{"policy", tokens(e.policy)}, {"label", e.labelLine()}}
	if e.self != "" {
		rows = append(rows, []string{"self", clean(e.self, 200)})
	}
	table(a.stdout, rows)
	fmt.Fprintln(a.stdout)
	a.showFaults("The policy has mistakes:", e.policyFaults, 0)
	a.showFaults("The label has mistakes:", e.labelFaults, 0)
	for i, c := range e.contributors {
		e.showContributor(a, i, &c)
	}
	for _, note := range e.notes {
		fmt.Fprintf(a.stdout, "Note: %s.\n", note)
	}
	if e.decision.Accepted() {
		fmt.Fprintln(a.stdout, a.paint(green, "Accepted: every contributor matches a token."))
		return
	}
	fmt.Fprintln(a.stdout, a.paint(red, "Refused.")+" The peer gets")
	fmt.Fprintf(a.stdout, "  %s\nand its model may be told no more than %q\n", asciiJSON(string(e.refusal())), flowerrors.ModelText)
}

func (e *explanation) labelLine() string {
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
