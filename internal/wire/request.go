package wire

import (
	"encoding/json"
	"fmt"
)

// IDKind says what kind of JSON value a request's id is.
type IDKind uint8

// The kinds of id. JSON-RPC 2.0 knows strings and numbers; null or no id makes
// the message a notification.
const (
	IDNone IDKind = iota
	IDString
	IDNumber
	IDOther
)

// Request is what the gate needs to know of a message. Its slices point into
// the bytes that were read.
type Request struct {
	ID     []byte // the id's JSON text, nil when there is none
	IDKind IDKind
	Method string
	Name   string // params.name, when it is a string
	URI    string // params.uri, when it is a string

	// Subscriptions holds the URIs of
	// params.notifications.resourceSubscriptions.
	Subscriptions []string

	// Meta reports that params._meta is an object, null or absent.
	Meta bool
	// MetaObject is the JSON text of params._meta, nil unless it is an object.
	MetaObject []byte
	// Label is the JSON text of the label in params._meta, nil when absent.
	Label []byte

	// Capabilities is the JSON text of params.capabilities, nil when absent. What is
	// in it is not judged; see [Unambiguous].
	Capabilities []byte
}

// Protocol members by the object that holds them: the names mcp-go decodes, so
// the names for which another spelling is a smuggled one (L8).
var (
	envelopeNames = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramsNames   = []string{
		"name", "arguments", "uri", "_meta", "ref", "argument", "context", "task", "notifications",
		"inputResponses", "requestState", "cursor", "taskId", "level", "protocolVersion", "capabilities", "clientInfo",
	}
	refNames    = []string{"type", "name", "uri"}
	taskNames   = []string{"ttl"}
	listenNames = []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"}
	metaNames   = []string{
		LabelKey, "progressToken", "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo",
		"io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/logLevel",
	}
	labelNames = []string{"contributors", "complete", "principal", "assurance", "publisher"}
)

// LabelKey is the member of params._meta that holds the label (section 1).
const LabelKey = "io.modelcontextprotocol/flowOrigin"

// ReadRequest reads one message. The error is an [AmbiguousError] when the
// message can be read in two ways (L8), another one when it is not JSON. What
// was read up to the error is in the Request.
func ReadRequest(msg []byte) (Request, error) {
	r := Request{Meta: true}
	c, err := open(msg, space(msg, 0), '{')
	if err != nil {
		return r, err
	}
	seen := names{where: "the message", known: envelopeNames}
	for {
		name, err := c.member()
		if err != nil {
			return r, err
		}
		if name == nil {
			break
		}
		known, err := seen.add(name)
		if err != nil {
			return r, err
		}
		switch {
		case known == "id":
			c.i, err = r.readID(msg, c.i)
		case known == "method":
			c.i, err = r.readMethod(msg, c.i)
		case known == "params" && c.at() == '{':
			c.i, err = r.readParams(msg, c.i)
		default:
			err = c.skip()
		}
		if err != nil {
			return r, err
		}
	}
	if space(msg, c.i) != len(msg) {
		return r, errSyntax
	}
	return r, nil
}

// gatedMethods are the methods that a gate meets most; they need no copy.
var gatedMethods = []string{
	"tools/call", "resources/read", "prompts/get", "completion/complete", "resources/subscribe", "subscriptions/listen",
}

func (r *Request) readMethod(b []byte, v int) (int, error) {
	for _, m := range gatedMethods {
		if end := v + len(m) + 2; end <= len(b) && b[v] == '"' && b[end-1] == '"' && string(b[v+1:end-1]) == m {
			r.Method = m
			return end, nil
		}
	}
	return readString(b, v, &r.Method)
}

func (r *Request) readID(b []byte, v int) (int, error) {
	end, err := skipValue(b, v)
	if err != nil {
		return end, err
	}
	r.ID = b[v:end]
	switch c := b[v]; {
	case c == '"':
		r.IDKind = IDString
	case c == '-' || c >= '0' && c <= '9':
		r.IDKind = IDNumber
	case c == 'n':
		r.ID, r.IDKind = nil, IDNone
	default:
		r.IDKind = IDOther
	}
	return end, nil
}

func (r *Request) readParams(b []byte, i int) (int, error) {
	c, err := open(b, i, '{')
	if err != nil {
		return i, err
	}
	seen := names{where: "params", known: paramsNames}
	for {
		name, err := c.member()
		if err != nil || name == nil {
			return c.i, err
		}
		known, err := seen.add(name)
		if err != nil {
			return c.i, err
		}
		object, v := c.at() == '{', c.i
		switch {
		case known == "name":
			c.i, err = readString(b, c.i, &r.Name)
		case known == "uri":
			c.i, err = readString(b, c.i, &r.URI)
		case known == "_meta" && object:
			c.i, err = r.readMeta(b, c.i)
			r.MetaObject = b[v:c.i]
		case known == "ref" && object:
			c.i, err = checkNames(b, c.i, "params.ref", refNames)
		case known == "task" && object:
			c.i, err = checkNames(b, c.i, "params.task", taskNames)
		case known == "notifications" && object:
			c.i, err = r.readNotifications(b, c.i)
		default:
			if known == "_meta" {
				r.Meta = c.at() == 'n'
			}
			err = c.skip()
			if known == "capabilities" {
				r.Capabilities = b[v:c.i]
			}
		}
		if err != nil {
			return c.i, err
		}
	}
}

// readNotifications reads the filter of subscriptions/listen.
func (r *Request) readNotifications(b []byte, i int) (int, error) {
	c, err := open(b, i, '{')
	if err != nil {
		return i, err
	}
	seen := names{where: "params.notifications", known: listenNames}
	for {
		name, err := c.member()
		if err != nil || name == nil {
			return c.i, err
		}
		known, err := seen.add(name)
		if err != nil {
			return c.i, err
		}
		v := c.i
		if err := c.skip(); err != nil {
			return c.i, err
		}
		if known != "resourceSubscriptions" {
			continue
		}
		// encoding/json is what mcp-go reads this list with; what it
		// refuses, mcp-go refuses too.
		var uris []string
		if err := json.Unmarshal(b[v:c.i], &uris); err == nil {
			r.Subscriptions = uris
		}
	}
}

func (r *Request) readMeta(b []byte, i int) (int, error) {
	c, err := open(b, i, '{')
	if err != nil {
		return i, err
	}
	seen := names{where: "params._meta", known: metaNames}
	for {
		name, err := c.member()
		if err != nil || name == nil {
			return c.i, err
		}
		known, err := seen.add(name)
		if err != nil {
			return c.i, err
		}
		if known == LabelKey {
			v := c.i
			if c.i, err = unique(b, v, "the label", labelNames, 0); err == nil {
				r.Label = b[v:c.i]
			}
		} else {
			c.i, err = unique(b, c.i, "params._meta", nil, 0)
		}
		if err != nil {
			return c.i, err
		}
	}
}

// checkNames walks an object whose own names must be unambiguous.
func checkNames(b []byte, i int, where string, known []string) (int, error) {
	c, err := open(b, i, '{')
	if err != nil {
		return i, err
	}
	seen := names{where: where, known: known}
	for {
		name, err := c.member()
		if err != nil || name == nil {
			return c.i, err
		}
		if _, err := seen.add(name); err != nil {
			return c.i, err
		}
		if err := c.skip(); err != nil {
			return c.i, err
		}
	}
}

// readString decodes the string at b[v] into dst. Another kind of value leaves
// dst alone: mcp-go refuses it where a string is due.
func readString(b []byte, v int, dst *string) (int, error) {
	end, err := skipValue(b, v)
	if err != nil {
		return end, err
	}
	if b[v] == '"' && end-v >= 2 {
		if body := b[v+1 : end-1]; plain(body) {
			*dst = string(body)
		} else {
			*dst = string(unquote(body))
		}
	}
	return end, nil
}

// IDKey returns the text that mcp-go writes for an id it has read: numbers go
// through float64 and strings through encoding/json's escaping, so two ids that
// mcp-go cannot tell apart have one key.
func IDKey(id any) (string, error) {
	b, err := json.Marshal(id)
	if err != nil {
		return "", fmt.Errorf("id: %w", err)
	}
	return string(b), nil
}

// RawIDKey is [IDKey] for an id's JSON text.
func RawIDKey(raw []byte) (string, error) {
	if simpleID(raw) {
		return string(raw), nil
	}
	var id any
	if err := json.Unmarshal(raw, &id); err != nil {
		return "", fmt.Errorf("id: %w", err)
	}
	return IDKey(id)
}

// simpleID reports whether encoding/json writes the id as it was sent: a short
// integer without sign or leading zero, or a string of letters, digits, `-`,
// `_`, `:` and `.`.
func simpleID(raw []byte) bool {
	if len(raw) == 0 {
		return false
	}
	if raw[0] != '"' {
		if len(raw) > 15 || raw[0] == '0' && len(raw) > 1 {
			return false
		}
		for _, c := range raw {
			if c < '0' || c > '9' {
				return false
			}
		}
		return true
	}
	if len(raw) < 2 {
		return false
	}
	for _, c := range raw[1 : len(raw)-1] {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == ':', c == '.':
		default:
			return false
		}
	}
	return true
}
