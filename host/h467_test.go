package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// H4: in privacy mode a label names assurance states and nothing else. The host judges by
// the same label, so it sends nothing that the recipient would refuse for that.
func TestH4(t *testing.T) {
	tests := []struct {
		sources, accept string
		want            host.Outcome
		label           string
	}{
		{"user+records+partner", `"user","verified"`, host.Answered, "=user, =verified"},
		{"user+fetch+chat+news", `"user","unverified","tofu"`, host.Answered, "=user, =unverified, =tofu"},
		{"user+records", `"user","self"`, host.BlockedByPolicy, "=user, =verified"},
		{"user+partner", `"user","` + partnerURI + `"`, host.BlockedByPolicy, "=user, =verified"},
		{"user+unknown", `"user","unverified"`, host.Answered, "=user, ?"},
		{"nothing", `"user"`, host.BlockedByPolicy, "?"},
	}
	for _, tt := range tests {
		b := newBench(t, host.Config{Private: true})
		c := b.open(recordsURI)
		list(t, c, policydecl.Tool, `[{"name":"x","flowPolicy":{"acceptFrom":[`+tt.accept+`]}}]`)
		outcome, l := send(t, c, b.turn(tt.sources), "tools/call", `{"name":"x"}`)
		equal(t, tt.sources, outcome, tt.want)
		if outcome == host.Answered && said(l) != tt.label {
			t.Errorf("%s: the label says %q, want %q", tt.sources, said(l), tt.label)
		}
		for i, contributor := range b.last().Label.Contributors() {
			if contributor.Principal() != "" || contributor.Publisher() != "" {
				t.Errorf("%s: contributor %d is %v", tt.sources, i, contributor)
			}
		}
	}
}

// H6: content of a verified server is not sent to an unverified one, nor is anything of
// which nobody can tell that it is none.
func TestH6(t *testing.T) {
	tests := []struct {
		sources, recipient string
		want               host.Outcome
	}{
		{"user", fetchURI, host.Answered},
		{"user+host", fetchURI, host.Answered},
		{"user+chat", fetchURI, host.Answered},
		{"user+news", fetchURI, host.Answered},
		{"user+records", fetchURI, host.BlockedByCeiling}, // case 51
		{"records", chatURI, host.BlockedByCeiling},
		{"user+fetch+records", fetchURI, host.BlockedByCeiling},
		{"unknown", fetchURI, host.BlockedByCeiling},
		{"user+unknown", fetchURI, host.BlockedByCeiling},
		{"nothing", fetchURI, host.BlockedByCeiling},
		{"user+records", newsURI, host.Answered}, // case 52, a stated limit
		{"user+records+fetch", partnerURI, host.Answered},
		{"unknown", partnerURI, host.Answered},
	}
	for _, tt := range tests {
		for _, private := range []bool{false, true} {
			name := fmt.Sprintf("%s to %s, private %v", tt.sources, tt.recipient, private)
			b := newBench(t, host.Config{Private: private})
			c := b.open(tt.recipient)
			for _, method := range []string{"tools/call", "prompts/get", "x/y"} {
				outcome, _ := send(t, c, b.turn(tt.sources), method, `{"name":"x"}`)
				equal(t, name+" "+method, outcome, tt.want)
				equal(t, name+" "+method+": recorded", b.last().Outcome, tt.want)
			}
			loose := newBench(t, host.Config{DangerouslyIgnoreCeiling: true})
			outcome, _ := send(t, loose.open(tt.recipient), loose.turn(tt.sources), "tools/call", `{"name":"x"}`)
			equal(t, name+" without ceiling", outcome, host.Answered)
		}
	}
}

// H6 holds for content of a server that was verified when it came. Its assurance is
// lowered later (H1); what it wrote is no less confidential.
func TestH6AfterLowering(t *testing.T) {
	b := newBench(t, host.Config{})
	fetch := b.open(fetchURI)
	p := b.turn("user")
	p.Add(as(b, policydecl.Verified).And(as(b, policydecl.Unverified)))
	equal(t, "sources", told(p.Sources()), "user, partner=unverified")
	for name, from := range map[string]*host.Partition{
		"itself": p, "a summary": b.Open(host.Turn{From: []host.Sources{p.Sources()}, Shown: []*host.Connection{}}), "a sub-agent": p.Sub(host.Turn{}),
	} {
		outcome, _ := send(t, fetch, from, "tools/call", `{"name":"x"}`)
		equal(t, name, outcome, host.BlockedByCeiling)
	}
	// Not even a server of the same URI has it back, if the host does not know any more who
	// that is: the one that was verified is somebody.
	again, err := b.Connect(host.Server{URI: partnerURI})
	must(t, err)
	must(t, again.Hello(context.Background(), []byte(`{}`)))
	again.Fresh(policydecl.Tool)
	outcome, _ := send(t, again, p, "tools/call", `{"name":"x"}`)
	equal(t, "one of the same URI", outcome, host.BlockedByCeiling)
	verified, err := b.Connect(host.Server{URI: partnerURI, Assurance: policydecl.Verified})
	must(t, err)
	must(t, verified.Hello(context.Background(), []byte(`{}`)))
	verified.Fresh(policydecl.Tool)
	outcome, _ = send(t, verified, p, "tools/call", `{"name":"x"}`)
	equal(t, "its own", outcome, host.Answered)
}

// H7: the text of a refusal is the one constant, whoever refused; the detail is in the
// record.
func TestH7(t *testing.T) {
	answer := func(object string) func(*testing.T, *bench) error {
		return func(t *testing.T, b *bench) error {
			r, err := b.open(recordsURI).Prepare(context.Background(), b.turn("user"), "tools/call", json.RawMessage(`{"name":"x"}`))
			must(t, err)
			return r.Error(context.Background(), json.RawMessage(object))
		}
	}
	prepare := func(uri, from, hello, tools, params string) func(*testing.T, *bench) error {
		return func(t *testing.T, b *bench) error {
			c := b.silent(uri)
			must(t, c.Hello(context.Background(), []byte(hello)))
			list(t, c, policydecl.Tool, tools)
			_, err := c.Prepare(context.Background(), b.turn(from), "tools/call", json.RawMessage(params))
			return err
		}
	}
	key := `"` + flowerrors.ViolationKey + `"`
	tests := []struct {
		name   string
		do     func(*testing.T, *bench) error
		want   host.Outcome // empty for an error that is no refusal
		detail string       // in the record
	}{
		{"the host, by the tool's policy", prepare(recordsURI, "user+fetch", `{}`, `[{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]`, `{"name":"x"}`), host.BlockedByPolicy, "unverified https://fetch.example/mcp"},
		{"the host, by the default", prepare(recordsURI, "user+fetch", `{"capabilities":{"flow":{"policy":true}}}`, `[]`, `{"name":"x"}`), host.BlockedByPolicy, "verified"},
		{"the host, by the ceiling", prepare(fetchURI, "records", `{}`, `[]`, `{"name":"x"}`), host.BlockedByCeiling, "records.example"},
		{"the host, for want of a label", prepare(fetchURI, "user", `{}`, `[]`, `{"name":"x","_meta":7}`), host.NotSent, "_meta"},
		{"the server", answer(refusalText), host.RefusedByServer, "unverified https://fetch.example/mcp"},
		{"the server, with nothing but the key", answer(`{"code":-32000,"message":"ask acme to accept you","data":{` + key + `:{"rejected":[],"acceptFrom":[]}}}`), host.RefusedByServer, "x"},
		{"the server, in a form nobody can read", answer(`{"data":{` + key + `:"use another tool"}}`), host.RefusedByServer, "wrong-type"},
		{"the server, twice", answer(`{"data":{` + key + `:1,` + key + `:2}}`), host.RefusedByServer, "duplicate"},
		{"an error that nobody can read", answer(`{"code":1`), host.Failed, "not JSON"},
		{"an error with two data", answer(`{"data":{},"data":{` + key + `:{}}}`), host.Failed, "duplicate"},
		{"an error that is too long", answer(`{"message":"` + strings.Repeat("x", 1<<20) + `","data":{` + key + `:{}}}`), host.Failed, "limit"},
		{"no error object", answer(``), host.Failed, "not JSON"},
		{"another error", answer(`{"code":403,"message":"Request rejected by flow policy"}`), "", ""},
		{"another error, the key in another case", answer(`{"data":{"io.modelcontextprotocol/FLOWPOLICYVIOLATION":{}}}`), "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, host.Config{})
			err := tt.do(t, b)
			equal(t, "records", b.count(), 1)
			if tt.want == "" {
				if err != nil {
					t.Errorf("taken for a refusal: %v", err)
				}
				equal(t, "outcome", b.last().Outcome, host.Answered)
				return
			}
			refusal, ok := err.(*host.Refusal)
			if !ok {
				t.Fatalf("the error is %v", err)
			}
			for _, text := range []string{
				refusal.Error(), fmt.Sprint(err), fmt.Sprintf("%s", err), fmt.Sprintf("%+v", err), fmt.Sprintf("%v", refusal), errors.Join(err).Error(),
			} {
				equal(t, "text", text, "The call was not permitted.")
			}
			if errors.Unwrap(err) != nil {
				t.Error("the error leads to another one")
			}
			for _, r := range []host.Record{refusal.Record(), b.last()} {
				equal(t, "outcome", r.Outcome, tt.want)
				if printed := slog.AnyValue(r).Resolve().String(); !strings.Contains(printed, tt.detail) {
					t.Errorf("the record lacks %q: %s", tt.detail, printed)
				}
				if r.Time.IsZero() || r.Target == "" {
					t.Errorf("the record is %+v", r)
				}
			}
		})
	}
	equal(t, "the constant", flowerrors.ModelText, "The call was not permitted.")
}

// H7: what a refusal says of the recipient's policy changes nothing (H5).
func TestH7TeachesNothing(t *testing.T) {
	b := newBench(t, host.Config{})
	c := b.open(recordsURI)
	list(t, c, policydecl.Tool, `[{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]`)
	r, err := c.Prepare(context.Background(), b.turn("user"), "tools/call", json.RawMessage(`{"name":"x"}`))
	must(t, err)
	_ = r.Error(context.Background(), json.RawMessage(`{"data":{"io.modelcontextprotocol/flowPolicyViolation":{"rejected":[],"acceptFrom":["unverified","user"]}}}`))
	outcome, _ := send(t, c, b.turn("user+fetch"), "tools/call", `{"name":"x"}`)
	equal(t, "afterwards", outcome, host.BlockedByPolicy)
}

// Every request that can carry content is recorded once, whatever happens to it and
// whatever the hook does.
func TestRecordOnce(t *testing.T) {
	ctx := context.Background()
	ends := map[string]func(*host.Request){
		"answered": func(r *host.Request) { r.Answered(ctx) },
		"failed":   func(r *host.Request) { r.Failed(ctx, errors.New("gone")) },
		"error":    func(r *host.Request) { _ = r.Error(ctx, json.RawMessage(`{"code":1}`)) },
		"refused":  func(r *host.Request) { _ = r.Error(ctx, json.RawMessage(refusalText)) },
	}
	want := map[string]host.Outcome{"answered": host.Answered, "failed": host.Failed, "error": host.Answered, "refused": host.RefusedByServer}
	for first, do := range ends {
		for second, again := range ends {
			b := newBench(t, host.Config{})
			r, err := b.open(recordsURI).Prepare(ctx, b.turn("user"), "tools/call", json.RawMessage(`{"name":"x"}`))
			must(t, err)
			equal(t, "records before the end", b.count(), 0)
			do(r)
			again(r)
			equal(t, first+", "+second+": records", b.count(), 1)
			equal(t, first+", "+second+": outcome", b.last().Outcome, want[first])
		}
	}

	h, err := host.New(host.Config{Record: func(context.Context, host.Record) { panic("full") }, Approve: func(context.Context, host.Approval) bool { panic("closed") }})
	must(t, err)
	c, err := h.Connect(host.Server{URI: recordsURI})
	must(t, err)
	must(t, c.Hello(context.Background(), []byte(`{}`)))
	list(t, c, policydecl.Tool, `[{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]`)
	list(t, c, policydecl.Tool, `[{"name":"x","flowPolicy":{"acceptFrom":["user","host"]}}]`)
	equal(t, "pending after a hook that panics", len(c.Pending()), 1)
	outcome, _ := send(t, c, h.Open(host.Turn{From: []host.Sources{host.UserInput()}}), "tools/call", `{"name":"x"}`)
	equal(t, "with a hook that panics", outcome, host.Answered)
	outcome, _ = send(t, c, nil, "tools/call", `{"name":"x"}`)
	equal(t, "a refusal with a hook that panics", outcome, host.BlockedByCeiling)
}
