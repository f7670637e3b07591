package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// What a record prints is printable ASCII of bounded length, whoever wrote it (M3), and
// holds neither arguments nor results.
func TestRecordLogValue(t *testing.T) {
	label := func(n int, complete bool) policydecl.Label {
		var list []policydecl.Contributor
		for i := range n {
			list = append(list, policydecl.NewContributor("https://s.example/"+strings.Repeat("x", i), policydecl.TOFU, ""))
		}
		return policydecl.BuildLabel(complete, list...)
	}
	tests := []struct {
		name   string
		record Record
		want   string
	}{
		{"nothing", Record{}, `[partition= server= method= target= outcome= label=absent contributors=[unverified]]`},
		{"a refusal", Record{
			Partition: "turn 1", Server: ownURI, Method: "tools/call", Target: "export", Outcome: BlockedByPolicy, Label: label(1, false),
			Rejected: []flowerrors.Rejected{{Assurance: "unverified"}, {Assurance: "tofu", Principal: "urn:x:y"}}, AcceptFrom: []string{"user"}, Reason: "why",
		}, `[partition=turn 1 server=` + ownURI + ` method=tools/call target=export outcome=blocked-by-policy label=incomplete contributors=[tofu https://s.example/ unverified] rejected=[unverified tofu urn:x:y] acceptFrom=[user] reason=why]`},
		{"a policy that accepts nothing", Record{AcceptFrom: []string{}}, `[partition= server= method= target= outcome= label=absent contributors=[unverified] rejected=[] acceptFrom=[]]`},
		{"what a terminal would obey", Record{
			Partition: "\x1b[2J", Server: "\u202e", Method: "a\nb", Target: "é\x00", Outcome: "\r", Reason: "\xff\u2028",
			Rejected: []flowerrors.Rejected{{Assurance: "\t", Principal: "\u200b"}}, AcceptFrom: []string{"\x7f"},
		}, `[partition=\x1b[2J server=\u202e method=a\nb target=\u00e9\x00 outcome=\r label=absent contributors=[unverified] rejected=[\u200b] acceptFrom=[\x7f] reason=\xff\u2028]`},
		{"as many as fit", Record{Label: label(16, true)}, "tofu https://s.example/" + strings.Repeat("x", 15) + "]]"},
		{"one more", Record{Label: label(17, true)}, "tofu https://s.example/" + strings.Repeat("x", 15) + " and 1 more]]"},
		{"more", Record{Label: label(200, false)}, "tofu https://s.example/" + strings.Repeat("x", 15) + " and 185 more]]"},
		{"too long", Record{Target: strings.Repeat("y", 257)}, "target=" + strings.Repeat("y", 256) + "... outcome"},
	}
	for _, tt := range tests {
		got := tt.record.LogValue().String()
		if strings.HasPrefix(tt.want, "[") && got != tt.want || !strings.Contains(got, tt.want) {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add("p", "u", "m", "t", "r", "acceptFrom", []byte(`{"code":1,"data":{"io.modelcontextprotocol/flowPolicyViolation":{"rejected":[{"assurance":"\u001b","principal":"\u202e"}],"acceptFrom":["\n"]}}}`), 3)
	f.Add("\x1b", "\xff", "\u202e", "\r\n", "\x00", "é", []byte(`{`), 40)
	f.Fuzz(func(t *testing.T, partition, server, method, target, reason, token string, object []byte, n int) {
		r := Record{Partition: partition, Server: server, Method: method, Target: target, Reason: reason, Outcome: Outcome(reason)}
		list := []policydecl.Contributor{policydecl.NewContributor(server, policydecl.Verified, target)}
		for range n & 63 {
			list = append(list, policydecl.NewContributor(partition, policydecl.TOFU, reason))
			r.AcceptFrom, r.Rejected = append(r.AcceptFrom, token), append(r.Rejected, flowerrors.Rejected{Assurance: method, Principal: token})
		}
		r.Label = policydecl.BuildLabel(n&1 == 0, list...)
		printable(t, r)

		h, err := New(Config{Record: func(_ context.Context, r Record) { printable(t, r) }})
		if err != nil {
			t.Fatal(err)
		}
		c, err := h.Connect(Server{URI: ownURI, Assurance: policydecl.TOFU})
		if err != nil {
			t.Fatal(err)
		}
		p := h.Open(Turn{Name: partition})
		c.Refuse(context.Background(), p, method, json.RawMessage(target), reason)
		if err := c.Hello(context.Background(), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		if r, err := c.Prepare(context.Background(), p, "x/"+method, nil); err == nil {
			if refusal, ok := r.Error(context.Background(), object).(*Refusal); ok {
				printable(t, refusal.Record())
				if refusal.Error() != flowerrors.ModelText {
					t.Errorf("the model is told %q", refusal.Error())
				}
			}
		}
	})
}

// printable checks what handlers make of a record.
func printable(t *testing.T, r Record) {
	t.Helper()
	for _, a := range r.LogValue().Group() {
		for _, text := range texts(a.Value) {
			if len(text) > 3*2048+64 {
				t.Errorf("%s is %d bytes long", a.Key, len(text))
			}
			if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
				t.Errorf("%s prints %q", a.Key, text)
			}
		}
	}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "request", r)
	if i := bytes.IndexFunc(bytes.TrimSuffix(out.Bytes(), []byte("\n")), func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
		t.Errorf("a handler prints %q", out.Bytes())
	}
}

func texts(v slog.Value) []string {
	if list, ok := v.Any().([]string); ok {
		return list
	}
	return []string{v.String()}
}

// What follows the path of a URI can be the content that was to be carried out.
func TestRecordHoldsNoQuery(t *testing.T) {
	ctx := context.Background()
	for uri, want := range map[string]string{
		"notes://export?data=secret": "notes://export", "notes://export#secret": "notes://export", "records://customers/1": "records://customers/1",
	} {
		var got []Record
		h, err := New(Config{Record: func(_ context.Context, r Record) { got = append(got, r) }})
		if err != nil {
			t.Fatal(err)
		}
		c, err := h.Connect(Server{URI: ownURI})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Prepare(ctx, nil, "resources/read", json.RawMessage(`{"uri":"`+uri+`"}`)); err == nil {
			t.Error("sent although nothing is known of the server")
		}
		if len(got) != 1 || got[0].Target != want {
			t.Errorf("%s: %+v", uri, got)
		}
	}
}

// Neither arguments nor results nor what a server says in an error is in a record.
func TestRecordHoldsNoArguments(t *testing.T) {
	ctx := context.Background()
	var printed []string
	h, err := New(Config{Record: func(_ context.Context, r Record) { printed = append(printed, r.LogValue().String()) }})
	if err != nil {
		t.Fatal(err)
	}
	c, err := h.Connect(Server{URI: ownURI, Assurance: policydecl.Verified})
	if err != nil {
		t.Fatal(err)
	}
	params := json.RawMessage(`{"name":"x","arguments":{"password":"hunter2"},"_meta":{"hunter2":"hunter2"},"inputResponses":{"x":"hunter2"}}`)
	send := func(p *Partition, method string, params json.RawMessage, end func(*Request)) {
		if r, err := c.Prepare(ctx, p, method, params); err == nil {
			end(r)
		}
	}
	answered := func(r *Request) { r.Answered(ctx) }
	p := h.Open(Turn{From: []Sources{UserInput()}})
	send(p, "tools/call", params, answered) // nothing is known yet
	c.Refuse(ctx, p, "tools/call", params, "no list")
	if err := c.Hello(context.Background(), []byte(`{"capabilities":{"flow":{"policy":true,"default":{"acceptFrom":["user","self"]}}}}`)); err != nil {
		t.Fatal(err)
	}
	c.Fresh(policydecl.Tool)
	send(p, "tools/call", params, answered)
	send(p, "tools/call", json.RawMessage(`{"name":"x","arguments":{"a":"hunter2","a":"hunter2"}}`), answered)
	send(p, "tools/call", json.RawMessage(`{"name":"x","arguments":"hunter2`), answered)
	send(p, "tools/call", json.RawMessage(`["hunter2"]`), answered)
	send(p, "completion/complete", json.RawMessage(`{"ref":{"type":["hunter2"]},"argument":{"value":"hunter2"}}`), answered)
	send(p, "tools/call", params, func(r *Request) { _ = r.Error(ctx, json.RawMessage(`{"code":1,"message":"hunter2"}`)) })
	send(p, "tools/call", params, func(r *Request) { r.Failed(ctx, errors.New("gone")) })
	send(nil, "tools/call", params, answered)
	if len(printed) != 10 {
		t.Fatalf("%d records, want 10: %q", len(printed), printed)
	}
	for _, text := range printed {
		if strings.Contains(text, "hunter2") {
			t.Errorf("recorded: %s", text)
		}
	}
}
