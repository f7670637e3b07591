package host_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// reconnect is what a server publishes on one connection and on those that follow.
type reconnect struct{ hello, was, hello2, is string }

const (
	strictPolicy = `,"flowPolicy":{"acceptFrom":["user"]}`
	loosePolicy  = `,"flowPolicy":{"acceptFrom":["user","unverified"]}`
	noDefault    = `{"capabilities":{}}`
	userDefault  = `{"capabilities":{"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}}`
)

// H5: a server does not loosen a policy by ending the connection. What was in force is
// known to the next one, listed again or not.
func TestReconnect(t *testing.T) {
	for name, tt := range map[string]reconnect{
		"another policy":                  {noDefault, strictPolicy, noDefault, loosePolicy},
		"no policy any more":              {noDefault, strictPolicy, noDefault, ""},
		"not listed any more":             {noDefault, strictPolicy, noDefault, "-"},
		"no default any more":             {userDefault, "", noDefault, ""},
		"a policy instead of the default": {userDefault, "", userDefault, loosePolicy},
		"a first policy":                  {userDefault, "-", userDefault, loosePolicy},
	} {
		for kind, member := range lists {
			if name == "a first policy" && kind != policydecl.Resource && kind != policydecl.Template {
				continue // nothing was called by that name
			}
			t.Run(name+" in "+member, func(t *testing.T) { tt.try(t, kind) })
		}
	}
}

// entry is one declaration in a list; - stands for none.
func entry(kind policydecl.TargetKind, policy string) string {
	key := map[policydecl.TargetKind]string{policydecl.Resource: "uri", policydecl.Template: "uriTemplate"}[kind]
	if policy == "-" {
		return "[]"
	}
	return fmt.Sprintf(`[{%q:"x://a"%s}]`, cmp.Or(key, "name"), policy)
}

// ask sends a request that is about that declaration.
func ask(t *testing.T, b *bench, c *host.Connection, kind policydecl.TargetKind, from string) host.Outcome {
	t.Helper()
	method := map[policydecl.TargetKind]string{policydecl.Tool: "tools/call", policydecl.Prompt: "prompts/get"}[kind]
	outcome, _ := send(t, c, b.turn(from), cmp.Or(method, "resources/read"), map[bool]string{true: `{"uri":"x://a"}`, false: `{"name":"x://a"}`}[method == ""])
	return outcome
}

func (r reconnect) try(t *testing.T, kind policydecl.TargetKind) {
	b := newBench(t, host.Config{})
	open := func(hello, policy string) *host.Connection {
		c := b.silent(recordsURI)
		must(t, c.Hello(t.Context(), []byte(hello)))
		for k := range lists {
			list(t, c, k, "[]")
		}
		list(t, c, kind, entry(kind, policy))
		return c
	}
	first := open(r.hello, r.was)
	for range 2 { // beside the first, and after it
		c := open(r.hello2, r.is)
		equal(t, "the user's", ask(t, b, c, kind, "user"), host.Answered)
		equal(t, "another's", ask(t, b, c, kind, "user+fetch"), host.BlockedByPolicy)
		equal(t, "nothing is pending", len(c.Pending()) == 0, r.is == "-")
		c.Close()
		first.Close()
	}
	c := open(r.hello2, r.is)
	for _, a := range c.Pending() {
		equal(t, "agreed", c.Approve(a), true)
	}
	c.Close()
	c = open(r.hello2, r.is)
	equal(t, "pending after it was agreed to", len(c.Pending()), 0)
	if r.is == loosePolicy {
		equal(t, "after it was agreed to", ask(t, b, c, kind, "user+fetch"), host.Answered)
	}
}

// H5: so it is with connections that are open at a time, whichever was first. The steps are
// of connections to one server: what they announce, and what they list of one resource.
func TestTogether(t *testing.T) {
	for name, steps := range map[string][]string{
		"the other has listed it":            {"a hello none", "b hello none", "a strict", "b loose"},
		"the other has announced it":         {"a opens", "b opens", "b hello user", "a hello none"},
		"it was loose there, and is again":   {"b hello none", "a hello none", "b loose", "a strict", "b loose", "c hello none", "c loose"},
		"it had no policy there":             {"b hello none", "a hello none", "b bare", "a strict", "b bare", "c hello none"},
		"a list that comes before the hello": {"a hello user", "a bare", "a closes", "b opens", "b loose", "b hello user"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, host.Config{})
			conns := map[string]*host.Connection{}
			var c *host.Connection
			for _, step := range steps {
				id, what, _ := strings.Cut(step, " ")
				if conns[id] == nil {
					conns[id] = b.silent(recordsURI)
				}
				c = conns[id]
				switch what {
				case "hello none":
					must(t, c.Hello(t.Context(), []byte(noDefault)))
				case "hello user":
					must(t, c.Hello(t.Context(), []byte(userDefault)))
				case "closes":
					c.Close()
				case "strict", "loose", "bare":
					policy := map[string]string{"strict": strictPolicy, "loose": loosePolicy}[what]
					list(t, c, policydecl.Resource, entry(policydecl.Resource, policy))
				}
			}
			c.Fresh(policydecl.Resource)
			c.Fresh(policydecl.Template)
			equal(t, "the user's", ask(t, b, c, policydecl.Resource, "user"), host.Answered)
			equal(t, "another's", ask(t, b, c, policydecl.Resource, "user+fetch"), host.BlockedByPolicy)
		})
	}
}

// A server of the same URI that the host knows less of, or otherwise, is another one: it
// shares neither the names of tools nor what was published, and is no exception to the
// ceiling (H6).
func TestSameURI(t *testing.T) {
	for name, s := range map[string]host.Server{
		"unverified": {URI: recordsURI}, "accepted on first use": {URI: recordsURI, Assurance: policydecl.TOFU},
		"of a publisher": {URI: recordsURI, Assurance: policydecl.Verified, Publisher: publisher},
	} {
		b := newBench(t, host.Config{})
		good := b.open(recordsURI)
		list(t, good, policydecl.Tool, `[{"name":"export","flowPolicy":{"acceptFrom":["user"]}}]`)
		other, err := b.Connect(s)
		must(t, err)
		must(t, other.Hello(context.Background(), []byte(`{"capabilities":{}}`)))
		list(t, other, policydecl.Tool, `[{"name":"export","flowPolicy":{"acceptFrom":["user","host"]}},{"name":"post"}]`)
		equal(t, name+": asked", len(b.asked), 1)
		equal(t, name+": asked about", b.asked[0].Question, host.NameTaken)
		outcome, _ := send(t, other, b.turn("user"), "tools/call", `{"name":"export"}`)
		equal(t, name+": the name", outcome, host.BlockedByName)
		want := host.Answered
		if s.Assurance == policydecl.Unverified {
			want = host.BlockedByCeiling
		}
		outcome, _ = send(t, other, b.turn("user+records"), "tools/call", `{"name":"post"}`)
		equal(t, name+": content of the verified one", outcome, want)
	}
}

// A host remembers a bounded number of servers, the newest. One that is connected is among
// them, and so is one that comes back.
func TestMemoryBounded(t *testing.T) {
	b := newBench(t, host.Config{})
	uri := func(i int) string { return fmt.Sprintf("https://s%d.example/mcp", i) }
	lists := func(i int) *host.Connection {
		c := b.open(uri(i))
		list(t, c, policydecl.Tool, fmt.Sprintf(`[{"name":"t%d","flowPolicy":{"acceptFrom":["user"]}}]`, i))
		return c
	}
	stays := lists(0)
	for i := range host.MaxServers + 1 {
		lists(i + 1).Close()
		if i == host.MaxServers-1 {
			lists(1).Close() // comes back, so that server 2 is the oldest
		}
	}
	b.silent(uri(9999)).Close() // has said nothing, and pushes nobody out
	stays.Close()
	stays.Close()
	thief := b.open(fetchURI)
	for i, want := range map[int]host.Outcome{
		0: host.BlockedByName, 1: host.BlockedByName, 2: host.Answered, 3: host.Answered, 4: host.BlockedByName, host.MaxServers + 1: host.BlockedByName,
	} {
		list(t, thief, policydecl.Tool, fmt.Sprintf(`[{"name":"t%d"}]`, i))
		outcome, _ := send(t, thief, b.turn("user"), "tools/call", fmt.Sprintf(`{"name":"t%d"}`, i))
		equal(t, uri(i), outcome, want)
	}
}
