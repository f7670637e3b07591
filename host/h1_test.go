package host_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// H1: a partition records who contributed. The same principal keeps the lower assurance,
// what is derived keeps its sources, and nothing takes a contributor out.
func TestH1(t *testing.T) {
	tests := []struct {
		name string
		do   func(b *bench) host.Sources
		want string
	}{
		{"what it was opened with, in order", func(b *bench) host.Sources { return b.turn("host+user+fetch").Sources() }, "host, user, fetch=unverified"},
		{"each principal once", func(b *bench) host.Sources { return b.turn("user+fetch+user+fetch").Sources() }, "user, fetch=unverified"},
		{"an empty context has no sources, all of which are known", func(b *bench) host.Sources { return b.turn("nothing").Sources() }, ""},
		{"text of unknown origin", func(b *bench) host.Sources { return b.turn("user+unknown").Sources() }, "user, ?"},
		{"not complete stays", func(b *bench) host.Sources {
			p := b.turn("user")
			p.Incomplete()
			p.Add(host.Nothing())
			p.Add(host.UserInput())
			return p.Sources()
		}, "user, ?"},
		{"added later", func(b *bench) host.Sources {
			p := b.turn("user")
			p.Add(b.silent(fetchURI).Sources())
			return p.Sources()
		}, "user, fetch=unverified"},
		{"the lower assurance, whichever came first", func(b *bench) host.Sources {
			return as(b, policydecl.Verified).And(as(b, policydecl.Unverified))
		}, "partner=unverified"},
		{"the lower assurance, the other way round", func(b *bench) host.Sources {
			return as(b, policydecl.TOFU).And(as(b, policydecl.Verified))
		}, "partner=tofu"},
		{"the same principal in another spelling", func(b *bench) host.Sources {
			return by(b, "https://partner.example/mcp", "").And(by(b, "HTTPS://PARTNER.example:443/mcp", ""))
		}, "partner=verified"},
		{"a publisher that both name", func(b *bench) host.Sources {
			return by(b, partnerURI, publisher).And(by(b, partnerURI, "HTTPS://ACME.example/p.json"))
		}, "partner=verified by " + publisher},
		{"a publisher that one does not name", func(b *bench) host.Sources {
			return by(b, partnerURI, publisher).And(by(b, partnerURI, ""))
		}, "partner=verified"},
		{"two publishers", func(b *bench) host.Sources {
			return by(b, partnerURI, publisher).And(by(b, partnerURI, "https://other.example/p"))
		}, "partner=verified"},
		{"case 54: a summary is no new text", func(b *bench) host.Sources {
			p := b.turn("user+fetch")
			summary := p.Sources()
			return b.Open(host.Turn{From: []host.Sources{host.HostText(), summary}, Shown: []*host.Connection{}}).Sources()
		}, "host, user, fetch=unverified"},
		{"the sources of a summary are those at the time", func(b *bench) host.Sources {
			p := b.turn("user")
			summary := p.Sources()
			p.Add(b.silent(fetchURI).Sources())
			return summary
		}, "user"},
		{"only a new partition starts clean", func(b *bench) host.Sources {
			b.turn("user+fetch")
			return b.turn("user").Sources()
		}, "user"},
		{"a sub-agent starts with what its task is made of", func(b *bench) host.Sources {
			return b.turn("user+fetch").Sub(host.Turn{From: []host.Sources{host.HostText()}}).Sources()
		}, "user, fetch=unverified, host"},
		{"what a sub-agent is opened with comes back", func(b *bench) host.Sources {
			p := b.turn("user")
			p.Sub(host.Turn{From: b.sources("fetch"), Shown: []*host.Connection{b.silent(chatURI)}})
			return p.Sources()
		}, "user, fetch=unverified, chat=unverified"},
		{"what a sub-agent of a sub-agent takes in comes back to all", func(b *bench) host.Sources {
			p := b.turn("user")
			p.Sub(host.Turn{}).Sub(host.Turn{}).Add(b.silent(fetchURI).Sources())
			return p.Sources()
		}, "user, fetch=unverified"},
		{"and not to its sisters", func(b *bench) host.Sources {
			p := b.turn("user")
			sister := p.Sub(host.Turn{})
			p.Sub(host.Turn{}).Add(b.silent(fetchURI).Sources())
			return sister.Sources()
		}, "user"},
		{"a server that is gone has contributed all the same", func(b *bench) host.Sources {
			c := b.open(fetchURI)
			p := b.turn("user")
			send(b.t, c, p, "tools/call", `{"name":"x"}`)
			c.Close()
			return p.Sources()
		}, "user, fetch=unverified"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			equal(t, "sources", told(tt.do(newBench(t, host.Config{}))), tt.want)
		})
	}
}

// as returns the sources of one server that is known so well.
func as(b *bench, a policydecl.Assurance) host.Sources {
	c, err := b.Connect(host.Server{URI: partnerURI, Assurance: a})
	must(b.t, err)
	return c.Sources()
}

func by(b *bench, uri, publisher string) host.Sources {
	c, err := b.Connect(host.Server{URI: uri, Assurance: policydecl.Verified, Publisher: publisher})
	must(b.t, err)
	return c.Sources()
}

// H1: no call removes a contributor. Whoever adds a method here has to think about it.
func TestH1NothingRemoves(t *testing.T) {
	for _, tt := range []struct {
		of   any
		want []string
	}{
		{&host.Partition{}, []string{"Add", "Incomplete", "Name", "Sources", "Sub"}},
		{host.Sources{}, []string{"And", "Complete", "Contributors", "Label"}},
	} {
		var got []string
		for m := range reflect.TypeOf(tt.of).Methods() {
			got = append(got, m.Name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%T has the methods %q, want %q", tt.of, got, tt.want)
		}
	}
	typ := reflect.TypeFor[host.Sources]()
	for i := range typ.NumField() {
		if typ.Field(i).IsExported() {
			t.Errorf("Sources.%s can be changed by anybody", typ.Field(i).Name)
		}
	}
}

// H1: Sources are immutable; what a caller does to a copy changes nothing.
func TestH1Immutable(t *testing.T) {
	b := newBench(t, host.Config{})
	s := b.turn("user+fetch").Sources()
	list := s.Contributors()
	list[1] = policydecl.NewContributor(policydecl.PrincipalUser, policydecl.User, "")
	equal(t, "after a change of the list", told(s), "user, fetch=unverified")
	a, c := s.And(as(b, policydecl.TOFU)), s.And(b.silent(chatURI).Sources())
	equal(t, "one sum", told(a), "user, fetch=unverified, partner=tofu")
	equal(t, "another", told(c), "user, fetch=unverified, chat=unverified")
	three := b.turn("user+host+partner").Sources() // an odd number leaves room behind a slice
	x, y := three.And(b.silent(fetchURI).Sources()), three.And(b.silent(chatURI).Sources())
	equal(t, "one of three", told(x), "user, host, partner=verified, fetch=unverified")
	equal(t, "another of three", told(y), "user, host, partner=verified, chat=unverified")
	low := three.And(as(b, policydecl.Unverified))
	equal(t, "lowered", told(low), "user, host, partner=unverified")
	equal(t, "what was lowered", told(three), "user, host, partner=verified")
	from := []host.Sources{host.UserInput()}
	p := b.Open(host.Turn{From: from, Shown: []*host.Connection{}})
	sub := p.Sub(host.Turn{From: from[:0]})
	equal(t, "the caller's slice", told(from[0]), "user")
	equal(t, "a sub-partition", told(sub.Sources()), "user")
}
