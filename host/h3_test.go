package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// H3: the label is on every request that can carry content of a context, also of a
// method that nobody knows yet, and on no other (section 5).
func TestH3WhichRequests(t *testing.T) {
	labelled := map[string]string{
		"tools/call":             `{"name":"x","arguments":{}}`,
		"resources/read":         `{"uri":"x://y"}`,
		"resources/subscribe":    `{"uri":"x://y"}`,
		"subscriptions/listen":   `{"notifications":{"resourceSubscriptions":["x://y"]}}`,
		"prompts/get":            `{"name":"x"}`,
		"completion/complete":    `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"}}`,
		"tasks/update":           `{"taskId":"1","inputResponses":{}}`,
		"tasks/get":              `{"taskId":"1"}`,
		"tasks/result":           `{"taskId":"1"}`,
		"tasks/cancel":           `{"taskId":"1"}`,
		"sampling/createMessage": `{}`,
		"a/method/of/tomorrow":   `{"x":1}`,
		"":                       ``,
		"Ping":                   ``,
		"tools/list ":            ``,
		"notifications/message":  `{}`,
	}
	quiet := []string{
		"initialize", "ping", "server/discover", "logging/setLevel", "resources/unsubscribe",
		"tools/list", "resources/list", "resources/templates/list", "prompts/list",
		"tasks/list",
	}
	b := newBench(t, host.Config{})
	c := b.open(recordsURI)
	for method, params := range labelled {
		records := b.count()
		outcome, l := send(t, c, b.turn("user+fetch"), method, params)
		equal(t, method+": outcome", outcome, host.Answered)
		equal(t, method+": label", said(l), "user, fetch=unverified")
		equal(t, method+": records", b.count(), records+1)
		if r := b.last(); r.Method != method || !r.Label.Equal(l) || r.Server != recordsURI || r.Partition != "user+fetch" || r.Time.IsZero() {
			t.Errorf("%s: recorded as %+v", method, r)
		}
	}
	records := b.count()
	for _, method := range quiet {
		for _, params := range []string{"", "null", `{"cursor":"x","_meta":{"progressToken":1}}`} {
			r, err := c.Prepare(context.Background(), b.turn("user"), method, json.RawMessage(params))
			must(t, err)
			equal(t, method, string(r.Params), params)
			r.Answered(context.Background())
		}
	}
	c.Close()
	for _, method := range quiet {
		outcome, _ := send(t, c, b.turn("user"), method, "")
		equal(t, method+" when closed", outcome, host.NotSent)
	}
	equal(t, "records of requests that carry nothing, which are those that were refused", b.count(), records+len(quiet))
}

// H3: the label says what the host knows, whatever the request says already, and a request
// that cannot be labelled so that a strict recipient reads it is not sent.
func TestH3Attach(t *testing.T) {
	const key = `"io.modelcontextprotocol/flowOrigin"`
	forged := `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}],"complete":true}`
	deep := strings.Repeat(`{"a":`, 11_000) + "1" + strings.Repeat("}", 11_000)
	tests := []struct {
		name, params string
		want         string // what is sent, with LABEL for the label; empty for nothing
	}{
		{"no parameters", ``, `{"_meta":{` + key + `:LABEL}}`},
		{"white space", " \r\n\t", `{"_meta":{` + key + `:LABEL}}`},
		{"other space", "\v{}", ""},
		{"null", `null`, `{"_meta":{` + key + `:LABEL}}`},
		{"an empty object", ` {} `, `{"_meta":{` + key + `:LABEL}}`},
		{"others stay", `{"b":1e2,"a":[1, 2]}`, `{"b":1e2,"a":[1,2],"_meta":{` + key + `:LABEL}}`},
		{"_meta is null", `{"_meta":null,"x":1}`, `{"_meta":{` + key + `:LABEL},"x":1}`},
		{"_meta has others", `{"_meta":{"progressToken":7}}`, `{"_meta":{"progressToken":7,` + key + `:LABEL}}`},
		{"a label that is there", `{"_meta":{` + key + `:` + forged + `,"z":1}}`, `{"_meta":{` + key + `:LABEL,"z":1}}`},
		{"a label of another kind", `{"_meta":{` + key + `:[true]}}`, `{"_meta":{` + key + `:LABEL}}`},
		{"names with escapes", `{"\u005fmeta":{"\u0069o.modelcontextprotocol\/flowOrigin":` + forged + `}}`, `{"_meta":{` + key + `:LABEL}}`},
		{"other names with escapes", `{"\u0061\"\\\n":1}`, `{"a\"\\\n":1,"_meta":{` + key + `:LABEL}}`},
		{"arguments are as they were", `{"arguments":{"_meta":{` + key + `:1},"A":1,"a":2}}`, `{"arguments":{"_meta":{` + key + `:1},"A":1,"a":2},"_meta":{` + key + `:LABEL}}`},
		{"params is an array", `[1]`, ""},
		{"params is a text", `"x"`, ""},
		{"params is a number", `1`, ""},
		{"two values", `{} {}`, ""},
		{"a value and a rest", `{}x`, ""},
		{"no JSON", `{`, ""},
		{"an unfinished member", `{"a"`, ""},
		{"a missing value", `{"a":}`, ""},
		{"_meta is an array", `{"_meta":[]}`, ""},
		{"_meta is a text", `{"_meta":"{}"}`, ""},
		{"_meta is false", `{"_meta":false}`, ""},
		{"_meta twice", `{"_meta":{},"_meta":{}}`, ""},
		{"_meta twice, once with escapes", `{"_meta":{},"\u005fmeta":{}}`, ""},
		{"_meta in capitals", `{"_META":{` + key + `:` + forged + `}}`, ""},
		{"_meta in both", `{"_meta":{},"_Meta":{}}`, ""},
		{"the label twice", `{"_meta":{` + key + `:1,` + key + `:2}}`, ""},
		{"the label in another case", `{"_meta":{"io.modelcontextprotocol/FLOWORIGIN":` + forged + `}}`, ""},
		{"the label twice, once with an escape", `{"_meta":{"io.modelcontextprotocol/flow\u004frigin":` + forged + `,` + key + `:1}}`, ""},
		{"a member twice", `{"a":1,"a":2}`, ""},
		{"a member twice, letter case aside", `{"extra":1,"EXTRA":2}`, ""},
		{"a name in folded letters", `{"argument\u017f":{}}`, ""},
		{"a member of _meta twice", `{"_meta":{"a":1,"A":2}}`, ""},
		{"text that is not UTF-8", "{\"a\":\"\xff\"}", ""},
		{"a name that is not UTF-8", "{\"a\xff\":1}", ""},
		{"half a surrogate", `{"a":"\ud800"}`, ""},
		{"arguments with a member twice", `{"arguments":{"a":1,"a":2}}`, ""},
		{"a number that nobody can hold in _meta", `{"_meta":{"a":1e999}}`, ""},
		{"too deep", `{"arguments":` + deep + `}`, ""},
		{"a byte order mark", "\ufeff{}", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, host.Config{})
			c := b.open(recordsURI)
			p := b.turn("user+fetch")
			r, err := c.Prepare(context.Background(), p, "x/y", json.RawMessage(tt.params))
			if tt.want == "" {
				if err == nil {
					t.Fatalf("sent as %s", r.Params)
				}
				equal(t, "outcome", b.last().Outcome, host.NotSent)
				equal(t, "text", err.Error(), "The call was not permitted.")
				if b.last().Reason == "" {
					t.Error("no reason is recorded")
				}
				return
			}
			must(t, err)
			label := p.Sources().Label(false)
			equal(t, "sent", strings.ReplaceAll(string(r.Params), " ", ""), strings.Replace(tt.want, "LABEL", string(label.AppendJSON(nil)), 1))
			if got := labelIn(t, "x/y", r.Params); !got.Equal(label) {
				t.Errorf("label %s, want %s", said(got), said(label))
			}
		})
	}
}

// H3: a host that cannot enumerate the contributors says so.
func TestH3Incomplete(t *testing.T) {
	b := newBench(t, host.Config{})
	other := newBench(t, host.Config{})
	c := b.open(recordsURI)
	for _, tt := range []struct {
		name string
		p    *host.Partition
		want string
	}{
		{"no partition", nil, "unverified, ?"},
		{"a partition that nobody opened", &host.Partition{}, "unverified, ?"},
		{"a sub-partition of none", (*host.Partition)(nil).Sub(host.Turn{From: b.sources("user")}), "user, ?"},
		{"a partition of another host", other.turn("user"), "user, ?"},
		{"nothing in it", b.turn("nothing"), "unverified, ?"},
		{"something of unknown origin", b.turn("user+unknown"), "user, ?"},
		{"all known", b.turn("user"), "user"},
	} {
		_, l := send(t, c, tt.p, "tools/call", `{"name":"x"}`)
		if got := strings.TrimPrefix(said(l), "="); got != tt.want {
			t.Errorf("%s: the label says %q, want %q", tt.name, got, tt.want)
		}
	}
	equal(t, "a context without a partition", host.PartitionFrom(context.Background()), nil)
	//lint:ignore SA1012 a nil context is what is tested
	equal(t, "no context", host.PartitionFrom(nil), nil)
	p := b.turn("user")
	ctx := host.WithPartition(context.Background(), p)
	equal(t, "its partition", host.PartitionFrom(ctx), p)
	equal(t, "taken back", host.PartitionFrom(host.WithPartition(ctx, nil)), nil)
}

// H3: a label that would be over a budget says less, and never less than it must.
func TestH3OverBudget(t *testing.T) {
	b := newBench(t, host.Config{})
	c := b.open(recordsURI)
	many := func(n, length int) *host.Partition {
		p := b.turn("user")
		for i := range n {
			uri := fmt.Sprintf("https://s%d.example/%s", i, strings.Repeat("x", length))
			s, err := b.Connect(host.Server{URI: uri, Assurance: policydecl.Assurance(i % 2)})
			must(t, err)
			p.Add(s.Sources())
		}
		return p
	}
	for _, tt := range []struct {
		n, length, want int
	}{{255, 1, 256}, {256, 1, 3}, {3000, 1, 3}, {40, 1900, 3}, {30, 1900, 31}} {
		p := many(tt.n, tt.length)
		_, l := send(t, c, p, "tools/call", `{"name":"x"}`)
		if l.Len() != tt.want || l.Class() != policydecl.ClassOK {
			t.Errorf("%d contributors of %d bytes: a label %v of %d, want %d", tt.n, tt.length, l.Class(), l.Len(), tt.want)
		}
		equal(t, "contributors kept", len(p.Sources().Contributors()), tt.n+2) // with the user and c
		p.Incomplete()
		if _, l = send(t, c, p, "tools/call", `{"name":"x"}`); l.Class() != policydecl.ClassIncomplete {
			t.Errorf("an incomplete label is %v", l.Class())
		}
	}
}
