package bench

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
)

// opaDecider asks OPA once for the whole label, with a query that is prepared once, with partial
// evaluation: that makes most of the cases about a tenth faster, and few slower.
type opaDecider struct{ query rego.PreparedEvalQuery }

// regoHead is the part of the policy that is the same for all tokens.
const regoHead = `package flow

default accept := false

usable if {
	is_array(input.contributors)
	count(input.contributors) > 0
}

accept if {
	usable
	enumerated
	every c in input.contributors { accepted(c) }
}

enumerated if input.complete == true
`

// regoUnverified is for a policy that accepts the least assured, and with them whatever cannot be read.
const regoUnverified = `
known := {"user", "host", "verified", "tofu"}

enumerated if input.complete != true

enumerated if not input.complete

accepted(c) if not known[c.assurance]

accepted(c) if not c.assurance

accept if not usable
`

func newOPA(tokens []string) (Decider, error) {
	k := sortTokens(tokens)
	var text strings.Builder
	text.WriteString(regoHead)
	for _, rule := range []struct {
		list []string
		set  string
		attr string
	}{{k.assurances, "assurances", "assurance"}, {k.principals, "principals", "principal"}, {k.publishers, "publishers", "publisher"}} {
		if len(rule.list) > 0 {
			fmt.Fprintf(&text, "\n%[1]s := {%[2]s}\n\naccepted(c) if %[1]s[c.%[3]s]\n", rule.set, quoted(rule.list), rule.attr)
		}
	}
	if k.unverified() {
		text.WriteString(regoUnverified)
	}
	query, err := rego.New(rego.Query("data.flow.accept"), rego.Module("flow.rego", text.String())).PrepareForEval(context.Background(), rego.WithPartialEval())
	return opaDecider{query}, err
}

func (d opaDecider) decide(input ast.Value) bool {
	results, err := d.query.Eval(context.Background(), rego.EvalParsedInput(input))
	return err == nil && results.Allowed()
}

func (d opaDecider) Prepared(raw []byte) (func() bool, error) {
	input, err := ast.ValueFromReader(bytes.NewReader(raw))
	return func() bool { return d.decide(input) }, err
}

func (d opaDecider) Decoded(v any) func() bool {
	return func() bool {
		input, err := ast.InterfaceToValue(v)
		return err == nil && d.decide(input)
	}
}

func (d opaDecider) JSON(raw []byte) func() bool {
	return func() bool {
		input, err := ast.ValueFromReader(bytes.NewReader(raw))
		return err == nil && d.decide(input)
	}
}
