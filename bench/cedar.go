package bench

import (
	"fmt"
	"strings"

	"github.com/cedar-policy/cedar-go"
)

// cedarDecider asks Cedar about each contributor in turn: the language has no way to say
// "every". The policy is one rule with one set for each kind of token, which is the fastest form
// there is, and the contributor is the request's context, which spares the entities.
// It stops at the first contributor that is refused.
type cedarDecider struct{ policies *cedar.PolicySet }

var cedarRequest = cedar.Request{
	Principal: cedar.NewEntityUID("Host", "host"),
	Action:    cedar.NewEntityUID("Action", "call"),
	Resource:  cedar.NewEntityUID("Tool", "export"),
}

func newCedar(tokens []string) (Decider, error) {
	k := sortTokens(tokens)
	var any []string
	for _, clause := range []struct {
		list []string
		attr string
	}{{k.assurances, "assurance"}, {k.principals, "principal"}, {k.publishers, "publisher"}} {
		if len(clause.list) > 0 {
			any = append(any, fmt.Sprintf("(context has %[1]s && [%[2]s].contains(context.%[1]s))", clause.attr, quoted(clause.list)))
		}
	}
	text := fmt.Sprintf(`permit (principal, action == Action::"call", resource == Tool::"export") when { %s };`, strings.Join(any, " || "))
	policies, err := cedar.NewPolicySetFromBytes("flow.cedar", []byte(text))
	return cedarDecider{policies}, err
}

// contexts makes a context of each contributor.
func contexts(o origin) []cedar.Record {
	list := make([]cedar.Record, 0, len(o.contributors)+1)
	for _, c := range o.contributors {
		list = append(list, cedarContext(c))
	}
	if !o.complete {
		list = append(list, cedarContext(leastAssured))
	}
	return list
}

func cedarContext(c contributor) cedar.Record {
	m := cedar.RecordMap{"assurance": cedar.String(c.assurance)}
	if c.principal != "" {
		m["principal"] = cedar.String(c.principal)
	}
	if c.publisher != "" {
		m["publisher"] = cedar.String(c.publisher)
	}
	return cedar.NewRecord(m)
}

func (d cedarDecider) all(list []cedar.Record) bool {
	for _, c := range list {
		if !d.one(c) {
			return false
		}
	}
	return true
}

func (d cedarDecider) one(c cedar.Record) bool {
	req := cedarRequest
	req.Context = c
	decision, _ := cedar.Authorize(d.policies, nil, req)
	return decision == cedar.Allow
}

// decide makes each context as it comes to it.
func (d cedarDecider) decide(v any) bool {
	o := readOrigin(v)
	for _, c := range o.contributors {
		if !d.one(cedarContext(c)) {
			return false
		}
	}
	return o.complete || d.one(cedarContext(leastAssured))
}

func (d cedarDecider) Prepared(raw []byte) (func() bool, error) {
	v, err := decode(raw)
	list := contexts(readOrigin(v))
	return func() bool { return d.all(list) }, err
}

func (d cedarDecider) Decoded(v any) func() bool { return func() bool { return d.decide(v) } }

func (d cedarDecider) JSON(raw []byte) func() bool { return decided(raw, d.decide) }
