package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/internal/vectors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// TestPublishedVectors: H5 with P4 to P6, D1, D2 and R1 to R4. What a server publishes, in the
// words of testdata/vectors, and what governs a request because of it.
func TestPublishedVectors(t *testing.T) {
	type kind struct {
		kind           policydecl.TargetKind
		method, member string
	}
	kinds := map[string]kind{
		"tool":     {policydecl.Tool, "tools/call", "name"},
		"prompt":   {policydecl.Prompt, "prompts/get", "name"},
		"resource": {policydecl.Resource, "resources/read", "uri"},
		"template": {policydecl.Template, "resources/read", "uri"},
	}
	vectors.Run(t, "published", func(t *testing.T, v vectors.Published) {
		k, ok := kinds[v.Kind]
		if !ok {
			t.Fatalf("no kind: %q", v.Kind)
		}
		b := newBench(t, host.Config{})
		c := b.silent(newsURI)
		must(t, c.Hello(context.Background(), v.Hello))
		for other := range lists {
			entries := "[]"
			if other == k.kind && v.Declaration != nil {
				entries = fmt.Sprintf("[%s]", v.Declaration)
			}
			list(t, c, other, entries)
		}
		// Nobody knows where this text comes from, so only a policy that accepts unverified
		// contributors accepts it.
		outcome, _ := send(t, c, b.turn("unknown"), k.method, fmt.Sprintf(`{%q:%q}`, k.member, v.Request))
		want := host.BlockedByPolicy
		if !v.Want.Governed || slices.Contains(v.Want.AcceptFrom, "unverified") {
			want = host.Answered
		}
		equal(t, "outcome", outcome, want)
		record := b.last()
		if want == host.BlockedByPolicy && !slices.Equal(record.AcceptFrom, v.Want.AcceptFrom) {
			t.Errorf("governed by %q, want %q", record.AcceptFrom, v.Want.AcceptFrom)
		}
		equal(t, "a fault is recorded", record.Reason != "", v.Want.Faulty)
	})
}

// stage is a host, its servers and the context of one vector.
type stage struct {
	*bench
	v         vectors.Host
	servers   map[string]*host.Connection
	partition *host.Partition
}

// TestHostVectors: H1 to H7. What a host makes of a context: which label it sends, what it does
// not send, and what a model is told.
func TestHostVectors(t *testing.T) {
	vectors.Run(t, "hosts", func(t *testing.T, v vectors.Host) {
		b := newBench(t, host.Config{
			Private: v.Private, DangerouslyIgnoreServerPolicies: v.IgnorePolicies, DangerouslyIgnoreCeiling: v.IgnoreCeiling,
		})
		s := &stage{bench: b, v: v, servers: map[string]*host.Connection{}}
		for _, server := range v.Servers {
			s.servers[server.Name] = s.connect(server, server.Assurance, server.Publisher)
		}
		start := []host.Sources{}
		for _, who := range v.Start {
			switch who {
			case "user":
				start = append(start, host.UserInput())
			case "host":
				start = append(start, host.HostText())
			default:
				t.Fatalf("nobody: %q", who)
			}
		}
		s.open(start...)
		requests := 0
		for i, step := range v.Steps {
			if step.Method != "" {
				requests++
			}
			s.step(i, step)
		}
		if requests == 0 {
			t.Error("nothing was asked")
		}
	})
}

// open opens a context that is shown no descriptions.
func (s *stage) open(from ...host.Sources) {
	s.partition = s.Open(host.Turn{From: from, Shown: []*host.Connection{}})
}

// connect connects to a server and reads everything that it lists.
func (s *stage) connect(v vectors.HostServer, assurance, publisher string) *host.Connection {
	s.t.Helper()
	a, ok := policydecl.ParseAssurance(assurance)
	if !ok {
		s.t.Fatalf("no state: %q", assurance)
	}
	c, err := s.Connect(host.Server{URI: v.URI, Assurance: a, Publisher: publisher})
	must(s.t, err)
	must(s.t, c.Hello(context.Background(), v.Hello))
	of := map[policydecl.TargetKind][]jsontext.Value{
		policydecl.Tool: v.Tools, policydecl.Resource: v.Resources, policydecl.Template: v.Templates, policydecl.Prompt: nil,
	}
	for kind, declarations := range of {
		text, err := json.Marshal(append([]jsontext.Value{}, declarations...))
		must(s.t, err)
		list(s.t, c, kind, string(text))
	}
	return c
}

// step does one step.
func (s *stage) step(i int, step vectors.Step) {
	t := s.t
	t.Helper()
	switch {
	case step.Enter != "":
		s.partition.Add(s.known(step).Sources())
	case step.Incomplete:
		s.partition.Incomplete()
	case step.Derive:
		s.open(s.partition.Sources())
	case step.Method != "":
		outcome, params, err := s.request(step)
		if string(outcome) != step.Outcome {
			t.Fatalf("step %d: %s (%v), want %s", i, outcome, s.last().Reason, step.Outcome)
		}
		if err != nil && err.Error() != "The call was not permitted." {
			t.Errorf("step %d: the model is told %q", i, err)
		}
		if (err != nil) != (step.Outcome != string(host.Answered)) {
			t.Errorf("step %d: the model is told %v", i, err)
		}
		s.compareLabel(i, step, params)
		if step.Rejected != nil {
			s.compareRefusal(i, step)
		}
	default:
		t.Fatalf("step %d: nothing happens", i)
	}
}

// known returns a connection to the server whose content enters, of which the host may know
// something else than before.
func (s *stage) known(step vectors.Step) *host.Connection {
	s.t.Helper()
	for _, v := range s.v.Servers {
		if v.Name != step.Enter {
			continue
		}
		if step.Assurance == "" && step.Publisher == nil {
			return s.servers[v.Name]
		}
		publisher := v.Publisher
		if step.Publisher != nil {
			publisher = *step.Publisher
		}
		return s.connect(vectors.HostServer{URI: v.URI, Hello: v.Hello}, step.Assurance, publisher)
	}
	s.t.Fatalf("no server: %q", step.Enter)
	return nil
}

// request sends a request if it may be sent, and answers it.
func (s *stage) request(step vectors.Step) (host.Outcome, []byte, error) {
	ctx := context.Background()
	c := s.servers[step.Server]
	if c == nil {
		s.t.Fatalf("no server: %q", step.Server)
	}
	r, err := c.Prepare(ctx, s.partition, step.Method, json.RawMessage(step.Params))
	if err != nil {
		return err.(*host.Refusal).Record().Outcome, nil, err
	}
	params := r.Params
	if step.Answer == nil {
		r.Answered(ctx)
		return host.Answered, params, nil
	}
	if err := r.Error(ctx, json.RawMessage(step.Answer)); err != nil {
		return err.(*host.Refusal).Record().Outcome, params, err
	}
	return host.Answered, params, nil
}

// compareLabel compares what is sent: the label that the vector names, and all else unchanged.
func (s *stage) compareLabel(i int, step vectors.Step, params []byte) {
	t := s.t
	t.Helper()
	if params == nil {
		return
	}
	if step.Label == nil {
		if !vectors.Same(params, step.Params) {
			t.Errorf("step %d: sent %s", i, params)
		}
		return
	}
	var sent, want map[string]any
	must(t, json.Unmarshal(params, &sent))
	must(t, json.Unmarshal(step.Params, &want))
	meta, _ := want["_meta"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["io.modelcontextprotocol/flowOrigin"] = json.RawMessage(step.Label)
	want["_meta"] = meta
	a, err := json.Marshal(sent)
	must(t, err)
	b, err := json.Marshal(want)
	must(t, err)
	if !vectors.Same(a, b) {
		t.Errorf("step %d: sent\n%s, want\n%s", i, a, b)
	}
}

// compareRefusal compares what the host records.
func (s *stage) compareRefusal(i int, step vectors.Step) {
	t := s.t
	t.Helper()
	record := s.last()
	var rejected []flowerrors.Rejected
	for _, r := range step.Rejected {
		rejected = append(rejected, flowerrors.Rejected(r))
	}
	if !slices.Equal(record.Rejected, rejected) || !slices.Equal(record.AcceptFrom, step.AcceptFrom) {
		t.Errorf("step %d: recorded %+v, %q; want %+v, %q", i, record.Rejected, record.AcceptFrom, rejected, step.AcceptFrom)
	}
}
