package conformance_test

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// refuse writes a refusal.
func (f *fake) refuse(w http.ResponseWriter, c *call, v *flowerrors.Violation) {
	id, code, text := c.id, 403, flowerrors.Message
	switch {
	case f.is("refuses by a tool result"):
		f.answer(w, id, `"result":{"isError":true,"content":[{"type":"text","text":"`+text+`"}]}`)
		return
	case f.is("rounds ids") && id == "9007199254740993":
		id = "9007199254740992"
	case f.is("names no id"):
		id = "null"
	case f.is("uses a reserved code"):
		code = -32000
	case f.is("says more"):
		text += "!"
	}
	body := string(v.AppendError(nil, code, flowerrors.DetailFull))
	switch {
	case text != flowerrors.Message:
		body = strings.Replace(body, flowerrors.Message, text, 1)
	case f.is("hides who"), f.is("hides who are two") && len(v.Rejected) > 1:
		body = string(v.AppendError(nil, code, flowerrors.DetailKeyOnly))
	case f.is("breaks the detail"):
		body = strings.Replace(body, `"rejected"`, `"refused"`, 1)
	}
	if f.is("reports progress first") && strings.Contains(string(c.params.Get("_meta")), "progressToken") {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":%s}\n\n", id, body)
		return
	}
	if f.is("refuses with HTTP status 403") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
	}
	f.answer(w, id, `"error":`+body)
}

// listing answers what is not gated.
func (f *fake) listing(c *call) string {
	version, extra := stateful, ""
	if c.era == modern {
		version, extra = modern, `,"resultType":"complete"`
	}
	switch c.method {
	case "initialize", "server/discover":
		if c.method == "initialize" {
			extra = `,"protocolVersion":"` + version + `"`
		} else {
			extra = `,"supportedVersions":["` + version + `"]`
		}
		flow := `{"policy":true,"default":{"acceptFrom":["self","user","host","verified"]}}`
		extension := flow
		switch {
		case f.is("announces one form"):
			extension = ""
		case f.is("reports only"):
			flow = strings.Replace(flow, "true", "false", 1)
			extension = flow
		}
		caps := `"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{},"flow":` + flow
		if f.is("announces nothing") || f.is("declares and announces nothing") {
			caps, extension = `"tools":{},"resources":{},"prompts":{}`, ""
		}
		if extension != "" {
			caps += `,"extensions":{"` + policydecl.ExtensionKey + `":` + extension + `}`
		}
		return `{"capabilities":{` + caps + `},"serverInfo":{"name":"fake` + f.odd() + `","version":"1"}` + extra + `}`
	case "ping":
		return "{}"
	case "tools/list":
		if c.params.Has("cursor") {
			return ""
		}
		hints := `"annotations":{"readOnlyHint":true},`
		first := hints
		if f.write {
			first = ""
		}
		return `{"tools":[` + f.declare("tool look", `"name":"look",`+first+schema) + "," + f.declare("tool closed", `"name":"closed",`+hints+schema) + "," +
			f.declare("tool bare", `"name":"bare",`+hints+schema) + "," + f.declare("tool named", `"name":"named",`+schema) + "," +
			f.declare("tool gold", `"name":"gold",`+hints+schema) + "," + f.declare("tool job", `"name":"job","execution":{"taskSupport":"required"},`+schema) + "]" + extra + "}"
	case "resources/list":
		return `{"resources":[` + f.declare("resource notes://a", `"uri":"notes://a","name":"a"`) + "," +
			f.declare("resource notes://item/top", `"uri":"notes://item/top","name":"top"`) + "]" + extra + "}"
	case "resources/templates/list":
		return `{"resourceTemplates":[` + f.declare("template notes://item/{id}", `"uriTemplate":"notes://item/{id}","name":"item"`) + "]" + extra + "}"
	case "prompts/list":
		return `{"prompts":[` + f.declare("prompt ask", `"name":"ask"`) + "]" + extra + "}"
	}
	return ""
}

const schema = `"inputSchema":{"type":"object"}`

// odd is part of a name that no terminal should see.
func (f *fake) odd() string {
	return map[bool]string{true: `\u001b[31m` + "\u202e\u00e9"}[f.is("sends escapes")]
}

// declare adds the policy of a declaration to its other members.
func (f *fake) declare(target, members string) string {
	policy := cmp.Or(fakePolicies[target], "")
	if target == "tool gold" && f.is("lists User and means user") {
		policy = `{"acceptFrom":["host","User"]}`
	}
	switch {
	case policy == "", f.is("declares and announces nothing"):
		return "{" + members + "}"
	case f.is("publishes one form"):
		return "{" + members + `,"flowPolicy":` + policy + "}"
	case f.is("publishes _meta twice"):
		members += `,"_meta":{"` + policydecl.PolicyKey + `":{"acceptFrom":["unverified"]}}`
	case f.is("lists tools without a schema"):
		members = strings.Replace(members, ","+schema, "", 1)
	}
	return "{" + members + `,"flowPolicy":` + policy + `,"_meta":{"` + policydecl.PolicyKey + `":` + policy + "}}"
}
