package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// oddLabels are texts that a reader can take for something else than another one does.
func oddLabels() map[string]string {
	const user = `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}],"complete":true`
	with := func(more string) string { return user + "," + more + "}" }
	escapes := func(n int) string { // n escapes, which are n bytes when they are read
		return `"` + strings.Repeat(`\u0061`, n) + `"`
	}
	long := strings.TrimSuffix(strings.Repeat(escapes(1500)+",", 10), ",") // 91 KB as sent
	return map[string]string{
		"good": user + "}", "null": "null", "no object": "[]", "a string": `"x"`, "a number": "7", "true": "true", "nobody": `{"contributors":[]}`,
		"no complete":                      `{"contributors":[{"assurance":"user"}]}`,
		"beyond float64":                   with(`"x":1e400`),
		"beyond float64, as a principal":   `{"contributors":[{"principal":1e400,"assurance":"user"}],"complete":true}`,
		"a number of 400 digits":           with(`"x":1` + strings.Repeat("0", 399)),
		"a long fraction":                  with(`"x":0.` + strings.Repeat("1", 399)),
		"a lone surrogate":                 `{"contributors":[{"principal":"https://a.example/\ud800","assurance":"user"}],"complete":true}`,
		"a lone surrogate in an extension": with(`"x":"\udc00"`),
		"not UTF-8":                        with("\"x\":\"\xff\""),
		"not UTF-8, as a principal":        "{\"contributors\":[{\"principal\":\"https://a.example/\xff\",\"assurance\":\"user\"}],\"complete\":true}",
		"70 KB of white space":             with(strings.Repeat(" ", 70<<10) + `"x":1`),
		"91 KB of escapes":                 with(`"x":[` + long + `]`),
		"too many bytes":                   with(`"x":[` + strings.ReplaceAll(strings.Repeat(long+",", 5), `\u0061`, "a") + `0]`),
		"an escaped name":                  strings.Replace(user, "complete", `\u0063omplete`, 1) + "}",
		"an escaped state":                 strings.Replace(user, `"user"`, `"\u0075ser"`, 1) + "}",
		"a duplicate name":                 with(`"complete":false`),
		"a duplicate, escaped":             with(`"\u0063omplete":false`),
		"a duplicate in an extension":      with(`"x":{"a":1,"a":2}`),
		"a duplicate in a contributor":     `{"contributors":[{"assurance":"user","assurance":"host"}],"complete":true}`,
		"a folded name":                    with(`"Complete":false`),
		"two folded names":                 with(`"x":1,"X":2`),
		"a folded name of a contributor":   `{"contributors":[{"assurance":"user","Principal":"https://a.example/"}],"complete":true}`,
		"folded by a long s":               with(`"contributor\u017f":[]`),
		"nested 7 deep":                    with(`"x":` + strings.Repeat("[", 7) + strings.Repeat("]", 7)),
		"nested 9 deep":                    with(`"x":` + strings.Repeat("[", 9) + strings.Repeat("]", 9)),
		"nested 300 deep":                  with(`"x":` + strings.Repeat("[", 300) + strings.Repeat("]", 300)),
		"nested 11000 deep":                with(`"x":` + strings.Repeat("[", 11000) + strings.Repeat("]", 11000)),
		"a string of 2 KB and one":         with(`"x":"` + strings.Repeat("a", 2049) + `"`),
		"a string of 2 KB":                 with(`"x":"` + strings.Repeat("a", 2048) + `"`),
		"300 contributors":                 `{"contributors":[` + strings.Repeat(`{"assurance":"user"},`, 299) + `{"assurance":"user"}],"complete":true}`,
		"cut off":                          user,
		"two values":                       `{} {}`,
		"a trailing comma":                 with(""),
	}
}

// raw sends requests as they are written.
type raw struct{ url, session string }

func (c *raw) post(t *testing.T, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Mcp-Session-Id", c.session)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// explain and the gate say the same of a label, whatever its text: the same verdict, the
// same code, and where the gate has it the same error.
func TestExplainAgreesWithTheGate(t *testing.T) {
	s := httptest.NewServer(gated(t, middleware.Config{}, policydecl.AcceptFrom("user")))
	defer s.Close()
	c := &raw{url: s.URL}
	c.post(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	seen := map[string]int{}
	check := func(name, request string, texts ...string) {
		var answer struct {
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if text := c.post(t, request); json.Unmarshal(text, &answer) != nil {
			t.Fatalf("%s: %.200s", name, text)
		}
		want := "accepted"
		if answer.Error != nil {
			want = "invalid"
			if _, flow, _ := flowerrors.ReadViolation(answer.Error); flow {
				want = "refused"
			}
		}
		seen[want]++
		for _, text := range append(texts, request) { // as much of it as people have at hand
			r := flowgateWith(t.Context(), t, text, "explain", "-json", "-policy", "user", "-self", gateURI, "-label", "-")
			var out explainJSON
			if err := json.Unmarshal([]byte(r.out), &out); err != nil {
				t.Fatalf("%s: %v %s", name, err, r.err)
			}
			if out.Verdict != want || !sameError(out.Error, answer.Error) || want != "accepted" && r.status != 1 {
				t.Errorf("%s: %s, the gate: %s\n%s\n%s", name, out.Verdict, want, out.Error, answer.Error)
			}
			flowgateWith(t.Context(), t, text, "explain", "-policy", "user", "-label", "-").wants(t, r.status)
		}
	}
	const before, after = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`, `}`
	for name, label := range oddLabels() {
		params := `{"name":"t","_meta":{"` + policydecl.LabelKey + `":` + label + `}}`
		check(name, before+params+after, label, params)
	}
	for _, params := range []string{
		`{"name":"t"}`, `{"name":"t","_meta":7}`, `{"name":"t","_meta":[]}`, `{"name":"t","_meta":null}`, `{"name":"t","_meta":{}}`,
		`{"name":"t","_meta":{"IO.modelcontextprotocol/floworigin":{}}}`, `{"name":"t","_meta":{},"_META":{}}`, `{"name":"t","name":"u"}`,
		`{"name":"t","_meta":{"x":1e400}}`,
	} {
		check(params, before+params+after)
	}
	if seen["accepted"] < 5 || seen["refused"] < 5 || seen["invalid"] < 5 {
		t.Errorf("the table has too little of something: %v", seen)
	}
}

// sameError compares what explain shows with what the server sent. A parse error has the
// transport's own text.
func sameError(ours, theirs json.RawMessage) bool {
	if ours == nil || theirs == nil {
		return ours == nil && theirs == nil
	}
	var a, b struct {
		Code    int
		Message string
		Data    any
	}
	if json.Unmarshal(ours, &a) != nil || json.Unmarshal(theirs, &b) != nil {
		return false
	}
	x, _ := json.Marshal(a.Data)
	y, _ := json.Marshal(b.Data)
	return a.Code == b.Code && (a.Message == b.Message || a.Code == codeParseError) && string(x) == string(y)
}

// What the gate takes for no request is said to be none, also around the label (L8).
func TestExplainInvalidRequests(t *testing.T) {
	const said = "Invalid. The gate answers with an invalid request error (L8), not with a refusal by flow policy."
	for _, label := range []string{
		strings.Replace(userLabel, `"complete"`, `"complete":false,"complete"`, 1),
		`{"_meta":{"` + policydecl.LabelKey + `":` + userLabel + `,"` + policydecl.LabelKey + `":null}}`,
		`{"_meta":{"io.modelcontextprotocol/floworigin":` + userLabel + `}}`,
		`{"method":"tools/call","params":{"_meta":{}},"Params":{}}`,
		`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","IO.modelcontextprotocol/protocolVersion":""}`,
	} {
		r := flowgate(t, "explain", "-policy", "user", "-label", label)
		r.wants(t, 1, said, `{"code":-32600,"message":"`)
		if strings.Contains(r.out, "Refused.") || strings.Contains(r.out, "Accepted") {
			t.Error(r.out)
		}
	}
	for _, text := range []string{"{", `null}},"params":{"_meta":{"x":1`, "{} {}"} { // nor can it end what is put around it
		flowgate(t, "explain", "-policy", "user", "-label", text).wants(t, 1, "Invalid. The request is not JSON, so the server answers with a parse error (-32700), not with a refusal by flow policy.")
	}
}
