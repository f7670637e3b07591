package middleware_test

import (
	"slices"
	"strings"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The slow twin of what the gate computes from the code's declarations and the overrides.
// It knows neither sets nor states: what matches a URI is written down in apRoutes, and
// what a policy accepts is looked up token by token.

// apSpeaker is one contributor of a label, as the twin sees it.
type apSpeaker struct{ assurance, principal string }

// apLabel is a label in both forms.
type apLabel struct {
	name, text string
	who        []apSpeaker
}

var apLabels = []apLabel{
	{"none", labelNone, []apSpeaker{{"unverified", ""}}},
	{"user", labelU, []apSpeaker{{"user", "urn:mcp:user"}}},
	{"verified", labelV, []apSpeaker{{"user", "urn:mcp:user"}, {"verified", "https://partner.example/mcp"}}},
	{"unverified", labelX, []apSpeaker{{"user", "urn:mcp:user"}, {"unverified", "https://fetch.example/mcp"}}},
	{"itself", `{"contributors":[{"principal":"` + ownURI + `","assurance":"unverified"}],"complete":true}`, []apSpeaker{{"unverified", ownURI}}},
	{"partner", `{"contributors":[{"principal":"https://partner.example/mcp","assurance":"tofu"}],"complete":true}`, []apSpeaker{{"tofu", "https://partner.example/mcp"}}},
	{"host", `{"contributors":[{"assurance":"host"},{"assurance":"verified"}],"complete":true}`, []apSpeaker{{"host", ""}, {"verified", ""}}},
}

// accepts decides on one policy.
func (l apLabel) accepts(accept string) bool {
	for _, s := range l.who {
		if !slices.ContainsFunc(strings.Split(accept, ","), func(token string) bool {
			return token == s.assurance || token != "" && token == s.principal || token == "self" && s.principal == ownURI
		}) {
			return false
		}
	}
	return true
}

// apTwin is what a server's code and its operator say.
type apTwin struct {
	cfg middleware.Config
	o   overrides.Overrides
}

// apDemand is one policy that a request has to meet.
type apDemand struct {
	accept string
	mode   middleware.Mode
}

func apKey(kind policydecl.TargetKind, name string) string { return kind.String() + " " + name }

// over returns what the overrides say of a target.
func (w apTwin) over(key string) (overrides.Target, bool) {
	for _, t := range w.o.Targets {
		if apKey(t.Kind, t.Name) == key {
			return t, true
		}
	}
	return overrides.Target{}, false
}

// own is the policy of the overrides for a target.
func (w apTwin) own(key string) (accept string, has bool) {
	t, _ := w.over(key)
	return strings.Join(t.Policy.Tokens(), ","), !t.Policy.IsZero()
}

// mode returns a target's mode, and whether anybody has given it one.
func (w apTwin) mode(key string) (m middleware.Mode, has bool) {
	if t, ok := w.over(key); ok && t.Mode != middleware.ModeUnset {
		return t.Mode, true
	}
	for _, t := range w.cfg.Modes {
		if apKey(t.Kind, t.Name) == key {
			if w.o.Mode != middleware.ModeUnset {
				return min(t.Mode, w.o.Mode), true // from strict to loose
			}
			return t.Mode, true
		}
	}
	return w.o.Mode.Or(w.cfg.Mode), false
}

// codeDefault is the default as the code has it, and effDefault as it counts now.
func (w apTwin) codeDefault() string {
	if w.cfg.Default.IsZero() {
		return "self,user,host,verified"
	}
	return strings.Join(w.cfg.Default.Tokens(), ",")
}

func (w apTwin) effDefault() string {
	if w.o.Default.IsZero() {
		return w.codeDefault()
	}
	return strings.Join(w.o.Default.Tokens(), ",")
}

// demands lists what a request has to meet.
func (w apTwin) demands(rt apRoute) (all []apDemand) {
	if d := rt.named; d != nil {
		k := apKey(d.kind, d.name)
		mode, _ := w.mode(k)
		own, has := w.own(k)
		if has {
			all = append(all, apDemand{own, mode})
		}
		switch {
		case has && w.o.DangerouslyLoosen:
		case d.accept != "-":
			all = append(all, apDemand{d.accept, mode})
		case has:
			all = append(all, apDemand{w.codeDefault(), mode})
		default:
			all = append(all, apDemand{w.effDefault(), mode})
		}
		return all
	}
	keys := rt.matches
	for _, d := range rt.code {
		keys = append(keys, apKey(d.kind, d.name))
	}
	overridden, coded := 0, 0
	for _, k := range keys {
		if own, has := w.own(k); has {
			mode, _ := w.mode(k)
			all = append(all, apDemand{own, mode})
			overridden++
		}
	}
	for _, d := range rt.code {
		k := apKey(d.kind, d.name)
		coded++
		if _, has := w.own(k); has && w.o.DangerouslyLoosen && !d.session {
			continue
		}
		mode, _ := w.mode(k)
		all = append(all, apDemand{d.accept, mode})
	}
	// What has a mode and no policy says how strictly the others count there.
	for _, k := range keys {
		declared := slices.ContainsFunc(rt.code, func(d apDecl) bool { return apKey(d.kind, d.name) == k && !d.session })
		mode, explicit := w.mode(k)
		if _, has := w.own(k); !explicit || (has || declared) && !strings.HasPrefix(k, "prefixes ") {
			continue
		}
		for i := range all {
			if mode.Or(middleware.Enforce) < all[i].mode.Or(middleware.Enforce) {
				all[i].mode = mode
			}
		}
	}
	governed := w.o.DangerouslyLoosen && overridden > 0
	if !governed && (coded == 0 || rt.plain != "") {
		all = append(all, w.defaultFor(rt, keys, overridden > 0))
	}
	return all
}

// defaultFor is the default as one of the demands: in the strictest mode of all that
// matches and has no policy by the code.
func (w apTwin) defaultFor(rt apRoute, keys []string, overridden bool) apDemand {
	d := apDemand{w.effDefault(), 0}
	if overridden {
		d.accept = w.codeDefault()
	}
	for _, k := range keys {
		declared := slices.ContainsFunc(rt.code, func(d apDecl) bool { return apKey(d.kind, d.name) == k && !d.session })
		mode, explicit := w.mode(k)
		_, has := w.own(k)
		if !(has || explicit && !declared) {
			continue
		}
		if d.mode == 0 || mode < d.mode {
			d.mode = mode
		}
	}
	server := w.o.Mode.Or(w.cfg.Mode)
	if d.mode == 0 || d.mode > server && w.servesMore(rt, keys) {
		d.mode = server
	}
	return d
}

// apServed is what the world registers by URI without a policy.
var apServed = map[string]bool{
	"resources plain://a/one": true, "resources mix://h/1": true, "templates solo://h/{id}": true,
	"templates notes://item/{id}": true, "templates file:///{+path}": true,
}

// servesMore reports whether something of which nobody has said anything answers there as
// well, and nobody speaks of the whole space or of the one thing that runs.
func (w apTwin) servesMore(rt apRoute, keys []string) bool {
	more := false
	for _, k := range keys {
		_, mode := w.mode(k)
		_, own := w.own(k)
		if (mode || own) && strings.HasPrefix(k, "prefixes ") && !slices.ContainsFunc(rt.code, func(d apDecl) bool { return apKey(d.kind, d.name) == k }) {
			return false
		}
		if mode && rt.plain != "" && k == "resources "+rt.plain {
			return false
		}
		more = more || apServed[k] && !mode && !own
	}
	return more
}

// refuses is the twin's verdict.
func (w apTwin) refuses(rt apRoute, l apLabel) bool {
	return slices.ContainsFunc(w.demands(rt), func(d apDemand) bool {
		return d.mode.Or(middleware.Enforce) == middleware.Enforce && !l.accepts(d.accept)
	})
}
