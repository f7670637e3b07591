package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/wire"
)

// The slow twin reads a message into a tree with encoding/json's own tokens and
// looks at the tree afterwards. It is quadratic in the number of names, allocates
// for everything and shares no line with the code under test.

// node is one JSON value. Names and strings are as encoding/json decodes them.
type node struct {
	delim byte // '{', '[' or 0
	names []string
	kids  []node
	text  string // the value's own bytes
	value any    // of a scalar
}

var errSlowTrailing = errors.New("more than one value")

// slowTree parses valid JSON.
func slowTree(msg []byte) (node, error) {
	d := json.NewDecoder(bytes.NewReader(msg))
	d.UseNumber()
	n, err := slowValue(d, msg)
	if err != nil {
		return n, err
	}
	if len(bytes.Trim(msg[d.InputOffset():], " \t\r\n")) != 0 {
		return n, errSlowTrailing
	}
	return n, nil
}

func slowValue(d *json.Decoder, msg []byte) (node, error) {
	before := d.InputOffset()
	tok, err := d.Token()
	if err != nil {
		return node{}, err
	}
	n := node{value: tok}
	if delim, ok := tok.(json.Delim); ok {
		n.delim = byte(delim)
		for d.More() {
			if n.delim == '{' {
				name, err := d.Token()
				if err != nil {
					return n, err
				}
				n.names = append(n.names, name.(string))
			}
			kid, err := slowValue(d, msg)
			if err != nil {
				return n, err
			}
			n.kids = append(n.kids, kid)
		}
		if _, err := d.Token(); err != nil {
			return n, err
		}
	}
	// Before the value stand only white space and a separator.
	n.text = strings.TrimLeft(string(msg[before:d.InputOffset()]), " \t\r\n:,")
	return n, nil
}

// get returns the member of exactly that name.
func (n node) get(name string) (node, bool) {
	if n.delim != '{' {
		return node{}, false
	}
	i := slices.Index(n.names, name)
	if i < 0 {
		return node{}, false
	}
	return n.kids[i], true
}

// doubtful reports whether a decoder that folds case could take one member of n
// for another, or another for one of the known names.
func (n node) doubtful(known ...string) bool {
	for i, a := range n.names {
		for _, b := range n.names[:i] {
			if strings.EqualFold(a, b) {
				return true
			}
		}
		for _, k := range known {
			if a != k && strings.EqualFold(a, k) {
				return true
			}
		}
	}
	return false
}

// doubtfulAnywhere is doubtful for every object in n.
func (n node) doubtfulAnywhere(known ...string) bool {
	if n.delim == '{' && n.doubtful(known...) {
		return true
	}
	return slices.ContainsFunc(n.kids, func(k node) bool { return k.doubtfulAnywhere(known...) })
}

// slowRead is the twin of ReadRequest. ambiguous is what rule L8 says.
func slowRead(msg []byte) (r wire.Request, ambiguous bool, err error) {
	n, err := slowTree(msg)
	if err != nil {
		return r, false, err
	}
	if n.delim != '{' {
		return r, false, errors.New("no object")
	}
	r.Meta = true
	ambiguous = n.doubtful("jsonrpc", "id", "method", "params", "result", "error")
	if m, ok := n.get("method"); ok {
		r.Method, _ = m.value.(string)
	}
	if id, ok := n.get("id"); ok && id.text != "null" {
		r.ID = []byte(id.text)
		switch id.value.(type) {
		case string:
			r.IDKind = wire.IDString
		case json.Number:
			r.IDKind = wire.IDNumber
		default:
			r.IDKind = wire.IDOther
		}
	}
	params, ok := n.get("params")
	if !ok || params.delim != '{' {
		return r, ambiguous, nil
	}
	ambiguous = ambiguous || params.doubtful(
		"name", "arguments", "uri", "_meta", "ref", "argument", "context", "task", "notifications", "inputResponses",
		"requestState", "cursor", "taskId", "level", "protocolVersion", "capabilities", "clientInfo")
	if uri, ok := params.get("uri"); ok {
		r.URI, _ = uri.value.(string)
	}
	if name, ok := params.get("name"); ok {
		r.Name, _ = name.value.(string)
	}
	for name, known := range map[string][]string{
		"ref": {"type", "name", "uri"}, "task": {"ttl"},
		"notifications": {"toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"},
	} {
		if m, ok := params.get(name); ok && m.delim == '{' {
			ambiguous = ambiguous || m.doubtful(known...)
		}
	}
	if list, ok := params.get("notifications"); ok {
		if uris, ok := list.get("resourceSubscriptions"); ok {
			_ = json.Unmarshal([]byte(uris.text), &r.Subscriptions)
			if slices.ContainsFunc(uris.kids, func(k node) bool { _, s := k.value.(string); return !s && k.value != nil }) {
				r.Subscriptions = nil
			}
		}
	}
	if caps, ok := params.get("capabilities"); ok {
		r.Capabilities = []byte(caps.text)
	}
	meta, ok := params.get("_meta")
	if !ok {
		return r, ambiguous, nil
	}
	r.Meta = meta.delim == '{' || meta.text == "null"
	if meta.delim == '{' {
		r.MetaObject = []byte(meta.text)
	}
	ambiguous = ambiguous || meta.doubtful(
		wire.LabelKey, "progressToken", "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo",
		"io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/logLevel")
	for i, name := range meta.names {
		if name == wire.LabelKey {
			r.Label = []byte(meta.kids[i].text)
			ambiguous = ambiguous || meta.kids[i].doubtfulAnywhere("contributors", "complete", "principal", "assurance", "publisher")
		} else {
			ambiguous = ambiguous || meta.kids[i].doubtfulAnywhere()
		}
	}
	return r, ambiguous, nil
}

// slowUnambiguous is the twin of Unambiguous.
func slowUnambiguous(text []byte) bool {
	n, err := slowTree(text)
	return err == nil && !n.doubtfulAnywhere() && !n.unholdable()
}

// unholdable reports whether a number in n is beyond what encoding/json can hold.
func (n node) unholdable() bool {
	if num, ok := n.value.(json.Number); ok {
		_, err := num.Float64()
		return err != nil
	}
	return slices.ContainsFunc(n.kids, node.unholdable)
}
