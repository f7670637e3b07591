package judge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The tokens that a contributor is made up for.
const (
	TokenSelf      = "self"
	tokenPublisher = "publisher:" // is how one begins
)

// PlaceholderSelf stands for a server's URI where it does not matter.
const PlaceholderSelf = "https://self.invalid/"

// states are the assurance states, the least assured first.
var states = []policydecl.Assurance{policydecl.Unverified, policydecl.TOFU, policydecl.Verified, policydecl.Host, policydecl.User}

// Aim chooses labels for a policy.
type Aim struct {
	Policy policydecl.Policy
	Set    *policydecl.Set // knows what self is
	Self   string          // the server's own URI, or empty if it is not known
	Marker string          // the principal that nobody else uses
}

// Nonce returns twelve hexadecimal digits that nobody can foresee, for the host name of a
// marker such as [Aim.Marker].
func Nonce() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Accepts reports whether the policy accepts a label.
func (a *Aim) Accepts(l policydecl.Label) bool { return a.Decide(l).Accepted() }

// Decide says what the policy says of a label.
func (a *Aim) Decide(l policydecl.Label) policydecl.Decision {
	return a.Set.Decide(context.Background(), &l, a.Policy)
}

// Refused returns the states in which the policy refuses a stranger.
func (a *Aim) Refused() []policydecl.Assurance {
	var refused []policydecl.Assurance
	for _, s := range states {
		if !a.Accepts(policydecl.BuildLabel(true, policydecl.NewContributor(a.Marker, s, ""))) {
			refused = append(refused, s)
		}
	}
	return refused
}

// Acceptable returns a contributor that the policy accepts, one by its state if it can.
func (a *Aim) Acceptable() (policydecl.Contributor, bool) {
	candidates := []policydecl.Contributor{
		policydecl.NewContributor(policydecl.PrincipalUser, policydecl.User, ""),
		policydecl.NewContributor(policydecl.PrincipalHost, policydecl.Host, ""),
		policydecl.NewContributor(a.Marker, policydecl.Verified, ""),
		policydecl.NewContributor(a.Marker, policydecl.TOFU, ""),
		policydecl.NewContributor(a.Marker, policydecl.Unverified, ""),
	}
	for _, c := range append(candidates, a.Named(policydecl.Verified)...) {
		if a.Accepts(policydecl.BuildLabel(true, c)) {
			return c, true
		}
	}
	return policydecl.Contributor{}, false
}

// Named returns contributors that a token accepts by their principal or publisher.
func (a *Aim) Named(state policydecl.Assurance) []policydecl.Contributor {
	var list []policydecl.Contributor
	for _, token := range a.Policy.Tokens() {
		switch publisher, ok := strings.CutPrefix(token, tokenPublisher); {
		case ok:
			list = append(list, policydecl.NewContributor(a.Marker, state, publisher))
		case token == TokenSelf && a.Self != "":
			list = append(list, policydecl.NewContributor(a.Self, state, ""))
		default:
			list = append(list, policydecl.NewContributor(token, state, ""))
		}
	}
	return list
}

// Near is a contributor whose name is nearly an accepted one.
type Near struct {
	Of    string // what it is near to, for people
	State policydecl.Assurance
	Label policydecl.Label
}

// Near returns for each form of token that goes by a name a contributor whose name is
// nearly the accepted one, as one that a server accepts which compares no more than the
// beginning (P1, P2).
func (a *Aim) Near(states []policydecl.Assurance) []Near {
	state := states[0]
	for _, s := range states {
		if s == policydecl.Verified { // that of whoever has a name as a rule
			state = s
		}
	}
	var list []Near
	done := map[string]bool{}
	add := func(form string, c policydecl.Contributor) {
		label := policydecl.BuildLabel(true, c)
		if named := c.Principal() + c.Publisher(); named != "" && !done[form] && !a.Accepts(label) {
			done[form] = true
			list = append(list, Near{form, state, label})
		}
	}
	for _, token := range a.Policy.Tokens() {
		_, isState := policydecl.ParseAssurance(token)
		switch publisher, ok := strings.CutPrefix(token, tokenPublisher); {
		case isState, token == TokenSelf && a.Self == "": // the marked ones have another URI
		case ok:
			add("publisher is nearly an accepted one", policydecl.NewContributor(a.Marker, state, almost(publisher)))
		case token == TokenSelf:
			add("principal is nearly the server's own URI", policydecl.NewContributor(almost(a.Self), state, ""))
		default:
			add("principal is nearly an accepted one", policydecl.NewContributor(almost(token), state, ""))
		}
	}
	return list
}

// almost returns another URI that begins with the given one.
func almost(uri string) string {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return uri
	case u.Opaque != "":
		return uri + ":flowgate-probe"
	}
	return u.JoinPath("flowgate-probe").String()
}

// VendorTokens returns the tokens that are well formed but need a matcher (P3).
func VendorTokens(set *policydecl.Set, p policydecl.Policy) []string {
	var list []string
	for _, token := range p.Tokens() {
		one := policydecl.AcceptFrom(token)
		if one.Err() == nil && set.Check(one) != nil {
			list = append(list, token)
		}
	}
	return list
}

// TaskSupport returns what the declaration of a tool says about tasks.
func TaskSupport(raw []byte) string {
	var tool struct {
		Execution struct {
			TaskSupport string `json:"taskSupport"`
		} `json:"execution"`
	}
	_ = json.Unmarshal(raw, &tool) // what cannot be read says nothing
	return tool.Execution.TaskSupport
}

// NeedsTask reports whether a tool can only be called as a task.
func NeedsTask(raw []byte) bool { return TaskSupport(raw) == string(mcp.TaskSupportRequired) }

// ParamHeaders returns the headers in which the stateless era wants some arguments a
// second time. A tool that mcp-go cannot read has none.
func ParamHeaders(raw []byte, params map[string]any) http.Header {
	var tool mcp.Tool
	text, err := json.Marshal(params)
	if err != nil || json.Unmarshal(raw, &tool) != nil {
		return nil
	}
	h := http.Header{}
	for name, value := range mcp.GenerateParamHeaders(&tool, text) {
		h.Set(name, value)
	}
	return h
}
