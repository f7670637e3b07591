package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/lmittmann/tint"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
)

// snkPaper is where a log handler writes.
type snkPaper struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (p *snkPaper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.Write(b)
}

func (p *snkPaper) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.String()
}

// snkPress is everything that an operator can see: records, and logs in three forms.
type snkPress struct {
	book              *recordBook
	text, json, tints snkPaper
}

func newSnkPress() (*snkPress, middleware.Config) {
	p := &snkPress{book: newRecordBook()}
	cfg, all := p.book.config(), &slog.HandlerOptions{Level: slog.LevelDebug}
	cfg.Logger = slog.New(slog.NewMultiHandler(
		slog.NewTextHandler(&p.text, all), slog.NewJSONHandler(&p.json, all),
		tint.NewTextHandler(&p.tints, &tint.Options{Level: slog.LevelDebug, NoColor: true}),
	))
	return p, cfg
}

// print returns all that was seen, by form.
func (p *snkPress) print(t *testing.T) map[string]string {
	t.Helper()
	var plain, fields, lines strings.Builder
	writer := decision.NewWriter(&lines)
	for _, r := range p.book.peek() {
		plain.WriteString(r.String() + "\n")
		// A URI that is declared as a pattern is the server's own word.
		fmt.Fprintf(&fields, "%+q %+q\n", fmt.Sprintf("%+v", struct{ decision.Record }{r}), fmt.Sprint(r.Attrs(nil)))
		if err := writer.Record(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	return map[string]string{
		"String": plain.String(), "fields": fields.String(), "Writer": lines.String(),
		"text": p.text.text(), "JSON": p.json.text(), "tint": p.tints.text(),
	}
}

// secret is in requests and answers. It cannot be a scheme, which is all that a record says
// of a URI that nobody has declared.
const secret = "canary_7f3a"

// secretRequests hold the secret wherever the model's knowledge can be.
func secretRequests() []request {
	args := `,"arguments":{"q":"` + secret + `","` + secret + `":1}`
	long := strings.Repeat("a", 9<<10)
	list := []request{
		{method: "tools/call", params: `"name":"leak"` + args, name: "leak"},
		{method: "tools/call", params: `"name":"leak"` + args + `,"task":{"ttl":1}`, name: "leak"},
		{method: "tools/call", params: `"name":"fail"` + args, name: "fail"},
		{method: "tools/call", params: `"name":"export"` + args, name: "export"},
		{method: "tools/call", params: `"name":"nothing"` + args, name: "nothing"},
		{method: "tools/call", params: `"name":{"` + secret + `":1}`},
		{method: "tools/call", params: `"name":"export","arguments":{},"Arguments":{"q":"` + secret + `"}`, name: "export"},
		{method: "tools/call", params: `"name":"export","arguments":{"a":"` + secret + `"},"arguments":{}`, name: "export"},
		{method: "prompts/get", params: `"name":"brief"` + args, name: "brief"},
		complete(`{"type":"ref/prompt","name":"brief"}`),
		{method: "completion/complete", params: `"ref":{"type":"ref/prompt","name":"brief"},"argument":{"name":"id","value":"` + secret + `"},"context":{"arguments":{"x":"` + secret + `"}}`},
		{method: "subscriptions/listen", params: `"notifications":{"resourceSubscriptions":["records://customers?q=` + secret + `","` + secret + `:x"]}`},
	}
	for _, uri := range []string{
		"notes://item/" + secret, "notes://export?data=" + secret, "file:///public/" + secret, "file:///secret/" + secret, "records://customers?q=" + secret,
		"records://customers#" + secret, "nowhere://" + secret + "/" + secret + "?x=" + secret, secret + "://x", secret, "notes://item/%zz" + secret,
		"notes://item/" + secret + long, "https://u:" + secret + "@h/" + secret, "notes:" + secret, "NOTES://ITEM/" + secret, "://" + secret,
		"data:text/plain," + secret, "notes://item/\\u0000" + secret, "\\u001b" + secret + ":x",
	} {
		list = append(list, read(uri, ""), request{method: "resources/subscribe", params: `"uri":"` + uri + `"`},
			complete(`{"type":"ref/resource","uri":"`+uri+`"}`))
	}
	for i := range list {
		list[i].meta = `"com.example/x":"` + secret + `"`
	}
	return list
}

// newLeaky is R with handlers whose results and errors hold the secret.
func newLeaky() *recipient {
	r := newRecipient()
	r.try(middleware.AddTool(r.server, mcp.NewTool("leak"), noPolicy, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r.ran.add("leak")
		return mcp.NewToolResultText(secret), nil
	}))
	r.try(middleware.AddTool(r.server, mcp.NewTool("fail"), noPolicy, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r.ran.add("fail")
		return nil, errors.New(secret)
	}))
	return r
}

// TestRecordsHoldNoContent: arguments, results, headers and what a URI holds appear in no
// record and no log line, whatever becomes of the request (M2).
func TestRecordsHoldNoContent(t *testing.T) {
	for _, mode := range []middleware.Mode{middleware.Enforce, middleware.DangerouslyReport, middleware.DangerouslyOff} {
		t.Run(mode.String(), func(t *testing.T) {
			press, cfg := newSnkPress()
			cfg.Mode = mode
			r := newLeaky()
			g, err := middleware.New(r.server, cfg)
			if err != nil {
				t.Fatal(err)
			}
			h, err := g.Handler(server.WithStateLess(true))
			if err != nil {
				t.Fatal(err)
			}
			web, pipe, sent := listenHTTP(t, h, r.ran), listenPipe(t, r, g), 0
			for _, e := range eras {
				for _, rq := range secretRequests() {
					for _, label := range []string{labelNone, labelU, labelX, labelMalformed} {
						rq.label = label
						sent++
						header := headers(e, rq, "")
						header.Set("Authorization", "Bearer "+secret)
						header.Set("X-"+secret, secret)
						if rq.method != "subscriptions/listen" {
							resp := web.post(t, deadline(t), rq.body(e), header)
							_ = readAnswer(t, resp, func(json.RawMessage) {})
							resp.Body.Close()
							sent++
						}
						pipe.exchange(t, e, rq)
					}
				}
			}
			if ran := r.ran.take(); ran["leak"] == 0 || ran["fail"] == 0 || ran["file"] == 0 {
				t.Errorf("ran %v", ran)
			}
			if n := len(press.book.peek()); n < sent/2 { // the era without the method, headers that do not fit
				t.Errorf("%d records of %d requests", n, sent)
			}
			for form, text := range press.print(t) {
				for line := range strings.Lines(text) {
					if strings.Contains(strings.ToLower(line), secret) {
						t.Fatalf("%s: %.600s", form, line)
					}
				}
			}
		})
	}
}

// hostileNames are what a peer may call a tool or itself (cases 57 and 59).
var hostileNames = []string{
	"export\n{\"verdict\":\"accepted\"}", "a\r\nb", "\x1b[2J\x1b]0;owned\x07", "\u202egnp.exe\u2066", "a\u0085b", "a\u2028b\u2029c", "a\vb\fc",
	"zero\u200bwidth\u200d\ufeff", "\x00\x7f\u009b31m", strings.Repeat("long ", 2000), strings.Repeat("\x1b", 10_000), `say "hi"\`, "caf\u00e9 \U0001f600 \u061c",
	"level=ERROR msg=\"flow gate\"", "%s%n\t|",
}

// TestHostileNamesStayOnOneLine: names of tools, principals, sessions and clients appear in
// records, escaped, bounded and on one line in every form (M3).
func TestHostileNamesStayOnOneLine(t *testing.T) {
	press, cfg := newSnkPress()
	r := newRecipient()
	_, lines := everywhere(t, r, cfg)
	pipe, n := lines[2].line.(*stdioLine), 0
	for _, name := range hostileNames {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		q := string(quoted)
		label := `{"contributors":[{"assurance":"user","principal":` + q + `},{"assurance":` + q + `,"publisher":` + q + `},{"assurance":"tofu","principal":"urn:x:` + q[1:] + `}],"complete":true}`
		hello := `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":` + q + `,"version":"1"}}}`
		pipe.send(t, hello)
		pipe.next(t)
		for _, e := range eras {
			for _, rq := range []request{
				{id: q, method: "tools/call", params: `"name":` + q, label: label}, {id: q, method: "prompts/get", params: `"name":` + q, label: label},
				{id: q, method: "resources/read", params: `"uri":` + q, label: label}, {id: q, method: "tools/call", params: `"name":"export"`, label: label},
				complete(`{"type":"ref/prompt","name":` + q + `}`).with(label),
			} {
				body := strings.Replace(rq.body(e), `"clientInfo":{"name":"t"`, `"clientInfo":{"name":`+q, 1)
				pipe.send(t, strings.Replace(body, `/clientInfo":{"name":"t"`, `/clientInfo":{"name":`+q, 1))
				m := string(pipe.next(t))
				if len(m) > 3*len(body)+1000 {
					t.Errorf("an answer of %d bytes to %d", len(m), len(body))
				}
				n++
			}
		}
	}
	press.book.take(t, n)
	for form, text := range press.print(t) {
		if strings.Contains("text JSON tint", form) && strings.Count(text, "\n") != n {
			t.Errorf("%s: %d lines for %d records", form, strings.Count(text, "\n"), n)
		}
		for line := range strings.Lines(strings.ReplaceAll(text, "µs", "us")) {
			if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(c rune) bool { return c < ' ' || c > '~' }); i >= 0 {
				t.Errorf("%s: %q", form, line)
			}
			if len(line) > 16<<10 {
				t.Errorf("%s: a line of %d bytes", form, len(line))
			}
		}
	}
}
