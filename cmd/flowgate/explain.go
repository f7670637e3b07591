package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

const explainUsage = `Usage: flowgate explain -policy POLICY [-label LABEL] [-self URI]

Says for each contributor of an origin label which token of a flow policy accepts
it or, if none does, why each does not; then the verdict and, if it is a refusal,
what the peer gets. Mistakes in the policy or the label are reported too.

POLICY is JSON, or tokens with commas or spaces between (self,user), also in brackets
as a log shows them ([self user]), or @FILE; null is no policy, for which the draft's
default stands in, and '' accepts nobody. A declaration with a flowPolicy, or what
announces a default, will do too. LABEL is JSON, @FILE, or - for standard input; null
or '' is no label. A request with a label, its params or their _meta will do too. The
label is read as flowgate's gate reads it. What that takes for an invalid request, such
as a member that is there twice, no policy judges.

Vendor tokens such as com.example.tier:gold are decided by a matcher in the server.
explain has none, so here they match nothing.

Exit status: 0 accepted, 1 refused or mistakes found, 2 wrong flags or unreadable file.

Flags:
`

// explainJSON is what explain -json prints.
type explainJSON struct {
	Command      string            `json:"command"` // explain
	Policy       policyJSON        `json:"policy"`  // that was applied
	Label        labelJSON         `json:"label"`
	Self         string            `json:"self,omitempty"`
	Contributors []contributorJSON `json:"contributors"`
	Verdict      string            `json:"verdict"`         // accepted, refused or invalid
	Error        json.RawMessage   `json:"error,omitempty"` // the JSON-RPC error that the peer gets
	PolicyFaults []findingJSON     `json:"policyFindings"`
	LabelFaults  []findingJSON     `json:"labelFindings"`
	Notes        []string          `json:"notes"` // for people; the wording may change
}

// labelJSON says how the label was read (L9).
type labelJSON struct {
	Class    string `json:"class"` // ok, absent, malformed or incomplete; or invalid
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
	invalid      error    // why the request with the label is none, so that no policy is asked
	byDefault    bool     // the draft's default stands in for the policy
	first        []string // notes on what was read, shown before what follows from it
	notes        []string
}

func (a *app) explain(ctx context.Context, args []string) (int, error) {
	fs := a.flags("explain", explainUsage)
	present := false
	var policyText string
	fs.Func("policy", "the `policy`: JSON, tokens with commas or spaces between, or @FILE", func(s string) error {
		policyText, present = s, true
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
		return statusMisuse, a.misuse(fs, "unexpected argument %s", given(fs.Arg(0)))
	case !present:
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
	if err := e.readPolicy(policyText); err != nil {
		return nil, err
	}
	uri := self
	if uri == "" {
		// Nobody's: a label that names it must not match self.
		uri = "https://" + judge.Nonce() + ".self.invalid/"
	}
	set, err := policydecl.Compile(policydecl.Config{URI: uri})
	if err != nil {
		return nil, fmt.Errorf("-self: %w", err)
	}
	e.readLabel(labelText)
	if self == "" && slices.Contains(e.policy.Tokens(), judge.TokenSelf) {
		e.notes = append(e.notes, "self is the server's own URI, which is unknown without -self, so it matches nothing here")
	}
	for _, token := range judge.VendorTokens(set, e.policy) {
		e.notes = append(e.notes, "explain has no matcher for "+clean(token, 80)+", so it matches nothing here; the server's may decide otherwise")
	}
	if e.invalid != nil {
		return e, ctx.Err()
	}
	e.contributors = set.Explain(ctx, &e.label, e.policy)
	e.comment()
	e.decision = set.Decide(ctx, &e.label, e.policy)
	return e, ctx.Err()
}

// comment adds to the reasons what explain knows besides.
func (e *explanation) comment() {
	for i := range e.contributors {
		x := &e.contributors[i]
		for j := range x.Tried {
			t := &x.Tried[j]
			switch publisher, ok := strings.CutPrefix(t.Token, "publisher:"); {
			case t.Matches:
			case t.Token == judge.TokenSelf && e.self == "":
				t.Why = "unknown without -self"
			case t.Token == judge.TokenSelf:
				t.Why += nearly(x.Contributor.Principal(), e.self)
			case ok:
				t.Why += nearly(x.Contributor.Publisher(), publisher)
			default:
				t.Why += nearly(x.Contributor.Principal(), t.Token)
			}
		}
	}
}

func (e *explanation) status() int {
	if e.invalid != nil || !e.decision.Accepted() || len(e.policyFaults)+len(e.labelFaults) > 0 {
		return statusFindings
	}
	return statusOK
}
