package host

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// H1: sums of the same sources share no memory, nor do their verified servers.
func TestSourcesShareNothing(t *testing.T) {
	server := func(name string) Sources {
		return of(policydecl.NewContributor("https://"+name+".example/mcp", policydecl.Verified, ""))
	}
	three := server("a").And(server("b"), server("c")) // an odd number leaves room behind a slice
	x, y := three.And(server("x")), three.And(server("y"))
	if x.verified[3] != "https://x.example/mcp" || y.verified[3] != "https://y.example/mcp" {
		t.Errorf("one has %q, the other %q", x.verified, y.verified)
	}
}

// H3: attach refuses what it cannot take apart by itself, whoever has looked before.
func TestAttachAlone(t *testing.T) {
	label := UserInput().Label(false)
	for _, params := range []string{`{} {}`, `{}x`, `[]`, `[1]`, `{"a":1,"a":2}`, `{"_meta":{}`, `{"a"`, `{"_meta":7}`, `{"_meta":{"a":1,"a":1}}`, "{\"\xff\":1}", `"x"`, `{"a":]}`, `{,}`} {
		if got, err := attach(json.RawMessage(params), label); err == nil {
			t.Errorf("%q has become %s", params, got)
		}
	}
}

// P6: what is wrong with a policy is recorded beside the outcome.
func TestFaultsAreRecorded(t *testing.T) {
	for _, tt := range []struct{ hello, tool, want string }{
		{`{}`, `{"name":"x"}`, ""},
		{`{}`, `{"name":"x","flowPolicy":{"acceptFrom":["user","nonsense"]}}`, "nonsense"},
		{`{}`, `{"name":"x","_meta":{"io.modelcontextprotocol/flowPolicy":7}}`, "an object"},
		{`{"flow":{"policy":true,"default":{"acceptFrom":["user","rubbish"]}}}`, `{"name":"x"}`, "rubbish"},
		{`{"flow":{"policy":true,"default":{"acceptFrom":["user","rubbish"]}}}`, `{"name":"y"}`, "rubbish"},
		{`{"flow":{"policy":true,"default":{"acceptFrom":["user","rubbish"]}}}`, `{"name":"x","flowPolicy":{"acceptFrom":["user"]}}`, ""},
		{`{"flow":{"policy":7}}`, `{"name":"x"}`, "neither true nor false"},
		{`{"flow":7}`, `{"name":"x"}`, "flow is no object"},
	} {
		s := newServer(t, nil)
		s.must(s.conn.Hello(context.Background(), []byte(`{"capabilities":`+tt.hello+`}`)))
		s.must(s.conn.Page(context.Background(), policydecl.Tool, []byte(`{"tools":[`+tt.tool+`]}`), true))
		for _, from := range []Sources{UserInput(), {}} {
			record := Record{Label: from.Label(false)}
			_, reason := s.conn.judge(t.Context(), from, &record, subject{kind: policydecl.Tool, names: []string{"x"}})
			if (record.Reason == "") != (tt.want == "") || !strings.Contains(record.Reason, tt.want) {
				t.Errorf("%s, %s: recorded as %q", tt.hello, tt.tool, record.Reason)
			}
			if reason != "" && reason != record.Reason {
				t.Errorf("%s, %s: the reason is %q", tt.hello, tt.tool, reason)
			}
		}
	}
}
