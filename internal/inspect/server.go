package inspect

import (
	"encoding/json"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Server is what a server says about itself.
type Server struct {
	Name, Version string // as sent

	// Announced reports whether the server announces flow policy at all, and Enforces
	// whether it says that it applies it: one that only reports says no (D2).
	Announced, Enforces bool

	// Default is the server's default policy, read as a host reads it (P6). It is never
	// absent; HasDefault tells whether the server announced one.
	Default    policydecl.Policy
	HasDefault bool

	lists map[string]bool // the capabilities of which something can be listed
}

// The members of capabilities.flow, and where a server that has no handshake puts its name.
const (
	memberCapabilities = "capabilities"
	memberExtensions   = "extensions"
	memberPolicy       = "policy"
	memberDefault      = "default"
	memberServerInfo   = "serverInfo"
	memberMeta         = "_meta"
	metaServerInfo     = "io.modelcontextprotocol/serverInfo"
)

// ReadServer reads the result of initialize or server/discover. The pointers of the
// faults start at that result.
func ReadServer(hello []byte) (Server, []policydecl.Fault) {
	s := Server{Default: policydecl.Default(), lists: map[string]bool{}}
	obj, err := rawjson.ReadObject(hello)
	if err != nil {
		return s, []policydecl.Fault{notWhat("", string(hello), "the answer is "+err.Error())}
	}
	faults := Duplicates(obj)
	info := obj.Object(memberServerInfo)
	if info == nil {
		info = obj.Object(memberMeta).Object(metaServerInfo)
	}
	s.Name, _ = info.Text("name")
	s.Version, _ = info.Text("version")

	raw := obj.Get(memberCapabilities)
	caps, err := rawjson.ReadObject(raw)
	if err != nil {
		return s, append(faults, notWhat(pointer(memberCapabilities), string(raw), "a server says what it can do in an object"))
	}
	faults = append(faults, Under(pointer(memberCapabilities), Duplicates(caps))...)
	for _, k := range kinds {
		v := caps.Get(k.capability)
		s.lists[k.capability] = v != nil && v.Kind() != 'n'
	}
	return s, append(faults, s.readFlow(caps)...)
}

// readFlow reads the two forms of the capability (D2), which must say the same. Hosts
// differ in which one they look at, so one that is there must be right by itself.
func (s *Server) readFlow(caps rawjson.Object) []policydecl.Fault {
	plain, extension := caps.Get(policydecl.CapabilityMember), caps.Object(memberExtensions).Get(policydecl.ExtensionKey)
	at := pointer(memberCapabilities, policydecl.CapabilityMember)
	atExtension := pointer(memberCapabilities, memberExtensions, policydecl.ExtensionKey)
	var faults []policydecl.Fault
	switch {
	case plain == nil && extension == nil:
		return nil
	case plain == nil:
		plain, at = extension, atExtension
	case extension != nil && !rawjson.Same(plain, extension):
		faults = append(faults, fault(atExtension, "D2", &flowerrors.ConfigError{
			Value: string(extension), Reason: flowerrors.ReasonConflict,
			Detail: "says something else than capabilities." + policydecl.CapabilityMember, Hint: "announce the same object in both places",
		}))
	}
	s.Announced = true
	flow, err := rawjson.ReadObject(plain)
	if err != nil {
		return append(faults, notWhat(at, string(plain), `the capability is an object such as {"policy":true}`))
	}
	faults = append(faults, Under(at, Duplicates(flow))...)
	switch policy := flow.Get(memberPolicy); policy.Kind() {
	case 't', 'f':
		s.Enforces = policy.Kind() == 't'
	default:
		faults = append(faults, notWhat(at+pointer(memberPolicy), string(policy), "must be true, or false for a server that only reports"))
	}
	def := flow.Get(memberDefault)
	if def == nil {
		return faults
	}
	faults = append(faults, Under(at+pointer(memberDefault), policydecl.ValidatePolicy(def))...)
	var fallback bool
	s.Default, fallback = readPolicy(def, policydecl.Default())
	s.HasDefault = !fallback
	return faults
}

// readPolicy reads a published policy as a host does (P6), and reports whether what is
// there could not be used, so that the given default stands in for it.
func readPolicy(raw []byte, def policydecl.Policy) (p policydecl.Policy, fallback bool) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		v = "" // nobody's policy
	}
	p, _ = policydecl.ReadPublished(v, def) // the faults are the validators' to report
	return p, p == def
}

// notWhat is the fault of a value that has another shape than MCP or the draft says.
func notWhat(at, value, detail string) policydecl.Fault {
	e := &flowerrors.ConfigError{Value: value, Reason: flowerrors.ReasonType, Detail: detail}
	if value == "" {
		e.Reason = flowerrors.ReasonMissing
	}
	rule := policydecl.RuleMCP
	if len(at) > len("/capabilities") {
		rule = "D2"
	}
	return fault(at, rule, e)
}
