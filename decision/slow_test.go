package decision_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// slowParse reads a line with encoding/json, one rule after the other. It knows a name that
// occurs twice by reading the object a second time, as tokens.
func slowParse(text []byte) (r decision.Record, ok bool) {
	long := len(text) >= decision.MaxLine
	text = bytes.TrimSpace(text)
	var m map[string]json.RawMessage
	if long || !utf8.Valid(text) || json.Unmarshal(text, &m) != nil || !slowUnique(text) {
		return r, false
	}
	for _, name := range []string{"method", "target", "verdict", "mode", "reason", "label"} {
		if m[name] == nil {
			return r, false
		}
	}
	ok = true
	read := func(name string, to *string) {
		raw, there := m[name]
		if !there {
			return
		}
		var s *string
		if json.Unmarshal(raw, &s) != nil || s == nil || shown(*s) != *s || *s == "" && name != "reason" && name != "method" && name != "target" && name != "label" {
			ok = false
			return
		}
		*to = *s
	}
	var reason, verdict, mode, label, when string
	for name, to := range map[string]*string{
		"method": &r.Method, "target": &r.Target, "verdict": &verdict, "mode": &mode, "reason": &reason, "label": &label, "flow.origin": &r.FlowOrigin,
		"policy": &r.Policy, "settings": &r.Settings, "server": &r.Server, "id": &r.RequestID, "session": &r.Session, "protocol": &r.Protocol,
		"client": &r.Client, "detail": &r.Detail, "time": &when,
	} {
		read(name, to)
	}
	number := func(name string, bits int) uint64 {
		n, err := strconv.ParseUint(string(m[name]), 10, bits)
		ok = ok && (m[name] == nil || err == nil && n > 0)
		return n
	}
	r.More, r.Took = int(number("rejectedMore", 63)), time.Duration(number("took", 63))
	r.Suppressed, r.Lost = number("suppressed", 64), number("lost", 64)
	r.Reason, r.Registered = decision.Reason(reason), m["registered"] != nil
	ok = ok && (m["registered"] == nil || string(m["registered"]) == "true")
	if when != "" {
		var err error
		r.Time, err = time.Parse(time.RFC3339Nano, when)
		ok = ok && err == nil && !r.Time.IsZero()
	}
	r.Verdict = map[string]decision.Verdict{"invalid": decision.Invalid, "fault": decision.Fault, "unjudged": decision.Unjudged, "accepted": decision.Accepted}[verdict]
	r.Mode = map[string]policydecl.Mode{"enforce": policydecl.Enforce, "report": policydecl.DangerouslyReport, "off": policydecl.DangerouslyOff}[mode]
	r.Judged = label != ""
	r.Class = map[string]policydecl.Class{"malformed": policydecl.ClassMalformed, "incomplete": policydecl.ClassIncomplete, "ok": policydecl.ClassOK}[label]
	ok = ok && (verdict == r.Verdict.String()) && mode == r.Mode.String() && (label == "" || label == r.Class.String())
	return r, ok && slowLists(m, &r)
}

func slowLists(m map[string]json.RawMessage, r *decision.Record) bool {
	var rejected, accept []*string
	if json.Unmarshal(orNull(m["rejected"]), &rejected) != nil || json.Unmarshal(orNull(m["acceptFrom"]), &accept) != nil {
		return false
	}
	for _, s := range rejected {
		if s == nil {
			return false
		}
		words := strings.SplitN(*s, " ", 2)
		c := decision.Contributor{Assurance: words[0]}
		if len(words) > 1 && strings.HasPrefix(words[1], `"`) || len(words) > 1 && strings.HasPrefix(words[1], "(") {
			c.Unusable = words[1]
		} else if len(words) > 1 {
			words = strings.SplitN(words[1], " ", 2)
			c.Principal = words[0]
			if len(words) > 1 {
				c.Unusable = words[1]
			}
		}
		if c.String() != *s {
			return false
		}
		r.Rejected = append(r.Rejected, c)
	}
	if accept != nil {
		r.AcceptFrom = []string{}
	}
	for i, s := range accept {
		if s == nil || shown(*s) != *s || i == 64 && *s != "..." {
			return false
		}
		r.AcceptFrom = append(r.AcceptFrom, *s)
	}
	refused := r.Verdict == decision.Refused
	return len(rejected) <= 8 && len(accept) <= 65 && (m["rejected"] != nil) == refused && (r.More == 0 || refused) && (m["acceptFrom"] != nil) == (r.Policy != "")
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// slowUnique reports whether no name occurs twice in the outermost object and nothing is
// nested too deeply.
func slowUnique(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	seen, depth, isName := map[string]bool{}, 0, true
	for {
		token, err := d.Token()
		if err == io.EOF {
			return true
		}
		name, isText := token.(string)
		switch delim, _ := token.(json.Delim); {
		case err != nil:
			return false
		case delim == '{' || delim == '[':
			depth++
		case delim == '}' || delim == ']':
			depth--
			isName = true
		case depth == 1 && isName && isText:
			if seen[name] {
				return false
			}
			seen[name], isName = true, false
		case depth == 1:
			isName = true
		}
		if depth > 16 {
			return false
		}
	}
}
