package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// server is a server that changes what it publishes, and the twin of what the host makes
// of it: what is published now, and nothing else.
type server struct {
	t    *testing.T
	host *Host
	conn *Connection
	set  *policydecl.Set
	def  rule
	own  map[target]rule // the zero rule of one that has no policy of its own
}

var targets = []target{
	{policydecl.Tool, "x"}, {policydecl.Prompt, "x"}, {policydecl.Resource, "db://c"}, {policydecl.Template, "db://{name}"},
}

// probes are what requests are about, and what governs them as published.
var probes = []struct {
	about subject
	by    []target
}{
	{subject{kind: policydecl.Tool, names: []string{"x"}}, targets[:1]},
	{subject{kind: policydecl.Tool, names: []string{"other"}}, nil},
	{subject{kind: policydecl.Prompt, names: []string{"x"}}, targets[1:2]},
	{subject{kind: policydecl.Resource, names: []string{"db://c"}}, targets[2:]},
	{subject{kind: policydecl.Resource, names: []string{"db://other"}}, targets[3:]},
	{subject{kind: policydecl.Resource, names: []string{"else://x"}}, nil},
	{subject{}, nil},
}

// askers are contributors that the tokens tell apart.
var askers = append(slices.Clone(contributors[:2]), contributors[2], contributors[8], contributors[11], contributors[12], contributors[13], contributors[15], contributors[18], contributors[29])

func newServer(t *testing.T, approve func(context.Context, Approval) bool) *server {
	h, err := New(Config{Approve: approve})
	if err != nil {
		t.Fatal(err)
	}
	c, err := h.Connect(Server{URI: ownURI, Assurance: policydecl.TOFU})
	if err != nil {
		t.Fatal(err)
	}
	return &server{t: t, host: h, conn: c, set: compileOwn(t), def: rule{open: true}, own: map[target]rule{}}
}

func (s *server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// hello announces a default: none, one, or one that differs in its two forms.
func (s *server) hello(how byte, bits uint16) {
	p, q := policyOf(bits), policyOf(bits<<3|bits>>4)
	caps := map[string]any{}
	s.def = rule{open: true}
	if how%4 > 0 {
		caps[policydecl.CapabilityMember] = map[string]any{"policy": true, "default": written(p)}
		s.def = rule{policies: []policydecl.Policy{p}}
	}
	if how%4 == 2 {
		caps["extensions"] = map[string]any{policydecl.ExtensionKey: map[string]any{"policy": true, "default": written(q)}}
		s.def.policies = append(s.def.policies, q)
	}
	raw, err := json.Marshal(map[string]any{"capabilities": caps})
	s.must(err)
	s.must(s.conn.Hello(context.Background(), raw))
}

// declare lists one declaration: without a policy, with one, with two, or with one that
// cannot be read.
func (s *server) declare(which, how byte, bits uint16) {
	t := targets[int(which)%len(targets)]
	l := s.conn.policies.lists[t.kind]
	p, q := policyOf(bits), policyOf(bits<<3|bits>>4)
	declaration := map[string]any{l.name: t.name}
	delete(s.own, t)
	switch how % 4 {
	case 1:
		declaration[policydecl.PolicyMember] = written(p)
		s.own[t] = rule{policies: []policydecl.Policy{p}}
	case 2:
		declaration[policydecl.PolicyMember] = written(p)
		declaration["_meta"] = map[string]any{policydecl.PolicyKey: written(q)}
		s.own[t] = rule{policies: []policydecl.Policy{p, q}}
	case 3:
		declaration[policydecl.PolicyMember] = 7
		s.own[t] = rule{byDefault: true, unread: true}
	}
	raw, err := json.Marshal(map[string]any{l.member: []any{declaration}})
	s.must(err)
	s.must(s.conn.Page(context.Background(), t.kind, raw, true))
}

// written is a policy as JSON. Tokens that mean nothing are inert, not mistakes, here.
func written(p policydecl.Policy) any { return map[string]any{"acceptFrom": p.Tokens()} }

// publishes says whether what is published now accepts a contributor, by the plain rules.
func (s *server) publishes(by []target, c policydecl.Contributor) bool {
	def := func() bool { return slowAccepts(s.t, s.set, s.def, c) }
	governed := false
	for _, t := range by {
		r, ok := s.own[t]
		switch {
		case !ok:
			continue
		case r.unread && s.def.open:
			r = rule{policies: []policydecl.Policy{policydecl.Default()}}
		case r.unread:
			r = s.def
		}
		if !slowAccepts(s.t, s.set, r, c) {
			return false
		}
		governed = true
	}
	return governed || def()
}

// sends says which contributors the host sends for now, for each probe.
func (s *server) sends() (list [][]bool) {
	for _, probe := range probes {
		var row []bool
		for _, c := range askers {
			record := Record{Label: policydecl.BuildLabel(true, c)}
			outcome, reason := s.conn.judge(context.Background(), of(c), &record, probe.about)
			if outcome != "" && outcome != BlockedByPolicy {
				s.t.Fatalf("%v: %s", outcome, reason)
			}
			row = append(row, outcome == "")
		}
		list = append(list, row)
	}
	return list
}

// H5: whatever a server publishes, and in whatever order, the host never sends what is
// refused by what is published; without approval nothing is sent that would not have been
// before; and once everything is approved, the host is no stricter than the server.
func FuzzPublished(f *testing.F) {
	f.Add([]byte{1, 0, 3, 11, 1, 7}, []byte{10, 1, 1, 10, 1, 7, 10, 0, 0}, false)
	f.Add([]byte{1, 0, 1, 10, 3, 0}, []byte{0, 0, 0, 0, 1, 32, 10, 0, 1, 10, 3, 1}, true)
	f.Add([]byte{0, 0, 0, 12, 1, 63, 13, 1, 3}, []byte{12, 0, 0, 13, 1, 60, 0, 1, 63, 0, 1, 1, 12, 3, 0}, true)
	f.Add([]byte{1, 0, 3, 10, 1, 1}, []byte{10, 1, 2, 10, 1, 4, 10, 1, 8, 10, 1, 16, 10, 1, 32, 10, 1, 64, 10, 1, 128, 10, 2, 5, 10, 1, 3, 10, 1, 1}, true)
	f.Add([]byte{0, 0, 0, 10, 3, 0}, []byte{0, 1, 35, 10, 3, 0, 0, 0, 0}, true)
	f.Fuzz(func(t *testing.T, first, then []byte, agree bool) {
		s := newServer(t, nil)
		s.hello(0, 0)
		s.play(first, nil)
		for i, of := range targets {
			if i < 2 && s.conn.policies.targets[of] == nil {
				s.declare(byte(i), 0, 0) // a tool that is new is not one whose policy has changed
			}
			s.must(s.conn.Page(context.Background(), of.kind, fmt.Appendf(nil, `{%q:[]}`, s.conn.policies.lists[of.kind].member), true))
		}
		s.approveAll()
		before := s.sends()
		s.play(then, func(what string) {
			now := s.sends()
			for i, probe := range probes {
				for j, c := range askers {
					if now[i][j] && !before[i][j] {
						t.Fatalf("%s: %v of %v is sent, and was not before", what, probe.about, c)
					}
					if now[i][j] && !s.publishes(probe.by, c) {
						t.Fatalf("%s: %v of %v is sent, and is refused", what, probe.about, c)
					}
				}
			}
			before = now
		})
		if agree {
			s.approveAll()
			s.agreed()
		}
	})
}

func (s *server) play(script []byte, after func(string)) {
	for ; len(script) >= 3 && len(script) < 48; script = script[3:] {
		if verb := script[0]; verb < 10 {
			s.hello(script[1], uint16(script[2]))
		} else {
			s.declare(verb-10, script[1], uint16(script[2])<<(script[1]>>4))
		}
		if after != nil {
			after(fmt.Sprint("after ", script[:3]))
		}
	}
}

func (s *server) approveAll() {
	s.t.Helper()
	for _, a := range s.conn.Pending() {
		if !s.conn.Approve(a) {
			// Agreeing to a default changes what is asked about the rest.
			continue
		}
	}
	for _, a := range s.conn.Pending() {
		if !s.conn.Approve(a) {
			s.t.Fatalf("%+v cannot be approved", a)
		}
	}
}

// agreed checks that the host sends what the server accepts once all is approved. Stricter
// than the server it stays for a resource that has lost its own policy, and for a policy that
// it cannot read.
func (s *server) agreed() {
	s.t.Helper()
	now := s.sends()
	for i, probe := range probes {
		if len(probe.by) > 0 && (probe.by[0].kind == policydecl.Resource || probe.by[0].kind == policydecl.Template || s.own[probe.by[0]].unread) {
			continue
		}
		for j, c := range askers {
			if got, want := now[i][j], s.publishes(probe.by, c); got != want {
				s.t.Fatalf("%v of %v is sent: %v, want %v", probe.about, c, got, want)
			}
		}
	}
}
