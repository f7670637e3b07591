package middleware_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// apTarget is what overrides say about one target. accept is a comma-separated list of
// tokens: "-" for no policy, "" for one that accepts nothing.
func apTarget(kind policydecl.TargetKind, name, accept string, mode middleware.Mode) overrides.Target {
	return overrides.Target{Kind: kind, Name: name, Policy: apPolicy(accept), Mode: mode}
}

func apPolicy(accept string) policydecl.Policy {
	switch accept {
	case "-":
		return policydecl.Policy{}
	case "":
		return policydecl.AcceptFrom()
	}
	return policydecl.AcceptFrom(strings.Split(accept, ",")...)
}

// apOver collects targets.
func apOver(targets ...overrides.Target) overrides.Overrides {
	return overrides.Overrides{Targets: targets}
}

// apLoose is apOver for what loosens.
func apLoose(targets ...overrides.Target) overrides.Overrides {
	return overrides.Overrides{Targets: targets, DangerouslyLoosen: true}
}

// apList is a list of tokens as a refusal shows it.
func apList(accept string) string {
	if accept == "" {
		return ""
	}
	return `"` + strings.ReplaceAll(accept, ",", `","`) + `"`
}

// apMust applies what has no mistakes.
func apMust(t testing.TB, g *middleware.Gate, o overrides.Overrides) {
	t.Helper()
	if err := g.Apply(o); err != nil {
		t.Fatalf("Apply: %v", err)
	}
}

// apFaults lists the mistakes of err as "path reason", in their order.
func apFaults(t testing.TB, err error) []string {
	t.Helper()
	var out []string
	for e := range flowerrors.All(err) {
		out = append(out, e.Path+" "+string(e.Reason))
		if e.Detail == "" || strings.ContainsAny(e.Error(), "\n\r\x1b") {
			t.Errorf("a poor error: %q", e.Error())
		}
	}
	return out
}

// apVerdict asks once and returns "ran" or the acceptFrom list of the refusal. Anything
// else stops the test: a bare error of the gate's is never an answer.
func apVerdict(t testing.TB, l line, e era, r request) string {
	t.Helper()
	return apVerdictOf(t, l.exchange(t, e, r), r)
}

func apVerdictOf(t testing.TB, a answer, r request) string {
	t.Helper()
	if slices.ContainsFunc(a.messages, isAcknowledgement) {
		return "ran"
	}
	got := a.reply(t)
	if got.Result != nil {
		return "ran"
	}
	accept, err := apAcceptFrom(got.Error)
	if err != nil {
		t.Fatalf("%s: %v", r.body(legacy), err)
	}
	return accept
}

// apAcceptFrom reads a refusal strictly: nothing may be in it but what X2 names.
func apAcceptFrom(object json.RawMessage) (string, error) {
	var e struct {
		Code    int
		Message string
		Data    map[string]struct {
			Rejected   []struct{ Assurance, Principal string }
			AcceptFrom []string
		}
	}
	d := json.NewDecoder(bytes.NewReader(object))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return "", fmt.Errorf("not a refusal: %s: %w", object, err)
	}
	v, ok := e.Data[keyFlowViolation]
	if !ok || e.Code != 403 || e.Message != flowerrors.Message || len(e.Data) != 1 || len(v.Rejected) == 0 || v.AcceptFrom == nil {
		return "", fmt.Errorf("not a refusal: %s", object)
	}
	return strings.Join(v.AcceptFrom, ","), nil
}

// apLog is a gate's log, line by line.
type apLog struct{ logBook }

func (b *apLog) config() middleware.Config {
	cfg := config()
	cfg.Logger = slog.New(slog.NewJSONHandler(&b.logBook, nil))
	return cfg
}

// apChange is the log line about changed overrides.
type apChange struct {
	Level, Msg, Old, New, Mode string
	Enforces                   bool
	Loose                      []string
}

// changes returns all lines since the last time, but for those about targets that match
// nothing; there must be none about anything else.
func (b *apLog) changes(t testing.TB) []apChange {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []apChange
	for text := range bytes.Lines(b.buf.Bytes()) {
		if bytes.Contains(text, []byte("has not got now")) {
			continue
		}
		var c apChange
		if err := json.Unmarshal(text, &c); err != nil || c.Msg != "flow overrides have changed" || (c.Level == "WARN") != (len(c.Loose) > 0) {
			t.Errorf("logged: %s", text)
		}
		out = append(out, c)
	}
	b.buf.Reset()
	return out
}

// apView is everything about a gate that overrides change, as text: the verdicts of every
// route for every label, what is published, the digest and the overrides.
func apView(t testing.TB, g *middleware.Gate, l line) string {
	t.Helper()
	var b strings.Builder
	o, err := json.Marshal(g.Overrides())
	fmt.Fprintf(&b, "%s %s %v\n", g.Settings(), o, err)
	for _, rt := range routes {
		for _, lb := range labels {
			e := legacy
			if rt.only != "" {
				e = rt.only
			}
			fmt.Fprintf(&b, "%s %s: %s\n", rt.name, lb.name, apVerdict(t, l, e, rt.request.with(lb.label)))
		}
	}
	for _, method := range apLists {
		fmt.Fprintf(&b, "%s\n", l.exchange(t, legacy, ungatedRequests[method]).reply(t).Result)
	}
	return b.String()
}

// apLists are the requests whose answers say something of policies.
var apLists = []string{"tools/list", "tools/list, last page", "resources/list", "resources/templates/list", "prompts/list", "initialize"}
