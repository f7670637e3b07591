package otelflow

import (
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// combination is what requests are counted by. Each member is of a closed set: a record
// can hold anything, and what is not in the set is Other (M3).
type combination struct {
	method, verdict, mode, reason, label, origin string
}

// The closed sets that package decision spells as text. "" is in those where a record may say
// nothing.
var (
	methods = closed("tools/call", "resources/read", "resources/subscribe", "subscriptions/listen",
		"prompts/get", "completion/complete") // section 5
	origins = closed("", "declared", "undeclared", "unknown")
	reasons = closed(decision.ReasonNone,
		decision.ReasonContributor, decision.ReasonIncomplete, decision.ReasonMalformed, decision.ReasonAbsent,
		decision.ReasonMatcher, decision.ReasonAmbiguous, decision.ReasonID, decision.ReasonMeta, decision.ReasonURI,
		decision.ReasonTooMany, decision.ReasonCancelled, decision.ReasonSeams, decision.ReasonPolicy, decision.ReasonPanic, decision.ReasonSampled)
)

// closed makes a set of texts, each standing for itself.
func closed[T ~string](texts ...T) map[string]string {
	set := make(map[string]string, len(texts))
	for _, t := range texts {
		set[string(t)] = string(t)
	}
	return set
}

// of returns text if it is in the set. What it returns is of the set, and keeps no memory of a
// record alive.
func of(set map[string]string, text string) string {
	if t, ok := set[text]; ok {
		return t
	}
	return Other
}

// combine reads r.
func combine(r *decision.Record) combination {
	c := combination{
		method:  of(methods, r.Method),
		verdict: r.Verdict.String(),
		mode:    r.Mode.Or(policydecl.Enforce).String(),
		reason:  of(reasons, string(r.Reason)),
	}
	if r.Judged {
		c.label = r.Class.String()
		if c.label == policydecl.ClassAbsent.String() {
			// Only there does it say something: a label that arrives speaks for itself.
			c.origin = of(origins, r.FlowOrigin)
		}
	}
	return c
}

// forTarget is what c has in common with its series by target. The reason says enough
// about the label there.
func (c combination) forTarget() combination {
	c.label, c.origin = "", ""
	return c
}

// set is c as attributes, with those besides.
func (c combination) set(besides ...attribute.KeyValue) attribute.Set {
	kvs := append(besides, semconv.McpMethodNameKey.String(c.method), KeyVerdict.String(c.verdict), KeyMode.String(c.mode))
	for _, kv := range [...]attribute.KeyValue{KeyReason.String(c.reason), KeyLabel.String(c.label), KeyFlowOrigin.String(c.origin)} {
		if kv.Value.AsString() != "" {
			kvs = append(kvs, kv)
		}
	}
	return attribute.NewSet(kvs...)
}

// verdictSet and durationSet are the parts of c that the other metrics have.
func (c combination) verdictSet() attribute.Set {
	return attribute.NewSet(KeyVerdict.String(c.verdict))
}

func (c combination) durationSet() attribute.Set {
	return attribute.NewSet(semconv.McpMethodNameKey.String(c.method), KeyVerdict.String(c.verdict))
}
