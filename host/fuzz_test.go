package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// H1: Sources are a sum in which nothing gets lost and nothing gets better.
func FuzzSources(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3}, []byte{2, 255}, []byte{11, 5, 20}, uint16(0b1011))
	f.Add([]byte{}, []byte{4, 5, 6, 7, 8, 9, 10, 11, 12}, []byte{12, 4}, uint16(0b1000))
	f.Add([]byte{2, 3}, []byte{2, 4}, []byte{5, 2}, uint16(0b100000000))
	f.Fuzz(func(t *testing.T, a, b, c []byte, bits uint16) {
		twin := &slowSources{complete: true}
		build := func(list []byte) Sources {
			s := Nothing()
			for _, n := range list {
				if n == 255 {
					s, twin.complete = s.And(Sources{}), false
					continue
				}
				contributor := contributors[int(n)%len(contributors)]
				twin.add(contributor)
				s = s.And(of(contributor))
			}
			return s
		}
		x, y, z := build(a), build(b), build(c)
		sum := x.And(y, z)
		twin.same(t, sum)
		twin.same(t, x.And(y).And(z))
		twin.same(t, x.And(y.And(z)))
		twin.same(t, sum.And(x).And(sum, Nothing()))
		unordered(t, sum, z.And(y, x))
		grows(t, x, sum, bits)
		grows(t, y, sum, bits)

		if l := sum.Label(true); l.Complete() != (sum.Complete() && len(sum.list) > 0) {
			t.Errorf("complete %v in a label of %v", l.Complete(), sum)
		}
		decided(t, sum, bits)
	})
}

// unordered compares sources up to their order.
func unordered(t *testing.T, a, b Sources) {
	t.Helper()
	key := func(s Sources) []string {
		var list []string
		for _, c := range s.Contributors() {
			list = append(list, c.CanonicalPrincipal()+" "+c.Assurance().String()+" "+c.CanonicalPublisher())
		}
		slices.Sort(list)
		return append(list, fmt.Sprint(s.Complete(), len(s.verified)))
	}
	if !slices.Equal(key(a), key(b)) {
		t.Errorf("%q, and the other way round %q", key(a), key(b))
	}
}

// grows checks what adding may do: whole has everything that part has, never better
// known, and any policy that refuses part refuses whole. The exception is a policy that
// accepts a state and not a better one, when a principal has been lowered to it (H1).
func grows(t *testing.T, part, whole Sources, bits uint16) {
	t.Helper()
	if whole.Complete() && !part.Complete() {
		t.Error("adding has made sources complete")
	}
	lowered := false
	for _, c := range part.Contributors() {
		i := slices.IndexFunc(whole.list, func(d policydecl.Contributor) bool { return d.CanonicalPrincipal() == c.CanonicalPrincipal() })
		if i < 0 {
			t.Fatalf("%v got lost", c)
		}
		if d := whole.list[i]; d.Assurance() > c.Assurance() || d.CanonicalPublisher() != c.CanonicalPublisher() && d.CanonicalPublisher() != "" {
			t.Errorf("%v has become %v", c, d)
		} else if d.Assurance() < c.Assurance() {
			lowered = true
		}
	}
	set := compileOwn(t)
	for _, private := range []bool{false, true} {
		before, after := part.Label(private), whole.Label(private)
		was := set.Decide(context.Background(), &before, policyOf(bits)).Accepted()
		is := set.Decide(context.Background(), &after, policyOf(bits)).Accepted()
		if is && !was && !lowered && len(part.list) > 0 {
			t.Errorf("accepted %v, which it refused as %v", after, before)
		}
	}
	if bare := part.Label(true); !bare.Complete() && len(part.list) > 0 && part.Complete() {
		t.Error("a private label is not complete")
	}
}

// decided checks that a private label is never accepted where the other is refused.
func decided(t *testing.T, s Sources, bits uint16) {
	t.Helper()
	set := compileOwn(t)
	full, private := s.Label(false), s.Label(true)
	if set.Decide(context.Background(), &private, policyOf(bits)).Accepted() && !set.Decide(context.Background(), &full, policyOf(bits)).Accepted() {
		t.Errorf("%v is accepted for %v", private, full)
	}
	for _, l := range []policydecl.Label{full, private} {
		if read := policydecl.ParseLabel(l.AppendJSON(nil), policydecl.Limits{}); !read.Equal(l) {
			t.Errorf("%s is read as %v", l.AppendJSON(nil), read)
		}
	}
}

// H3: parameters are what they were but for the label, which a strict recipient reads, and
// whatever it can read is sent.
func FuzzAttach(f *testing.F) {
	for _, params := range []string{
		``, " \n", "\v{}", `null`, ` {"a":1.0e5,"_meta":{"x":[1, 2],"io.modelcontextprotocol/flowOrigin":{"complete":true}}}`, `{"_meta":null}`, `{"_meta":7}`,
		`{"\u005fmeta":{"\u0069o.modelcontextprotocol/flowOrigin":1}}`, `{"_META":{}}`, `[]`, `{"arguments":{"a":1,"A":2,"\u0000":"\\\""}}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`,
		`{"ſ":1,"S":2}`, `{"a":1}{}`, "{\"a\":\"\u2028<&>\"}",
	} {
		f.Add([]byte(params), []byte{0, 7, 200})
	}
	h, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	c, err := h.Connect(Server{URI: ownURI, Assurance: policydecl.TOFU})
	if err != nil {
		f.Fatal(err)
	}
	if err := c.Hello(context.Background(), []byte(`{}`)); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, params, from []byte) {
		p := h.Open(Turn{Shown: []*Connection{}})
		for _, n := range from {
			p.Add(of(contributors[int(n)%len(contributors)]))
		}
		label := p.Sources().Label(false)
		given := bytes.Clone(params)
		r, err := c.Prepare(context.Background(), p, "x/y", params)
		if !bytes.Equal(given, params) {
			t.Fatal("the caller's parameters have changed")
		}
		strict, readable := readStrictly(params)
		if err != nil {
			if readable {
				t.Fatalf("not sent (%s): %q", err.(*Refusal).Record().Reason, params)
			}
			return
		}
		defer r.Answered(context.Background())
		if !readable {
			t.Fatalf("sent: %q", params)
		}
		if want := slowAttached(t, strict, label); !reflect.DeepEqual(slowValue(t, r.Params), want) {
			t.Errorf("%s\nis not %v", r.Params, want)
		}
		req, err := wire.ReadRequest(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"x/y","params":%s}`, r.Params))
		if err != nil {
			t.Fatalf("%v: %s", err, r.Params)
		}
		if got := policydecl.ParseLabel(req.Label, policydecl.Limits{}); !got.Equal(label) {
			t.Errorf("the label is read as %v, want %v", got, label)
		}
		if n := bytes.Count(r.Params, []byte(`"`+policydecl.LabelKey+`"`)) - bytes.Count(params, []byte(`"`+policydecl.LabelKey+`"`)); n > 1 {
			t.Errorf("%d labels more than before", n)
		}
	})
}

// readStrictly says whether a strict recipient can read parameters, and returns them without
// what makes no difference.
func readStrictly(params []byte) ([]byte, bool) {
	params = bytes.Trim(params, " \t\r\n")
	if len(params) == 0 || string(params) == "null" {
		return nil, true
	}
	if params[0] != '{' || !strictJSON(params) {
		return nil, false
	}
	req, err := wire.ReadRequest(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"x/y","params":%s}`, params))
	return params, err == nil && req.Meta
}

// H5: whatever the host finds no looser accepts nothing more, by the decisions themselves.
func FuzzLooser(f *testing.F) {
	f.Add(uint16(0b11), uint16(0b1), uint16(0b111), uint16(0b1001), byte(0))
	f.Add(uint16(0b1011), uint16(0b1011), uint16(0), uint16(0xffff), byte(3))
	f.Add(uint16(0), uint16(0), uint16(0b111), uint16(0b1), byte(0b1110)) // the zero rule, which accepts nothing, and another
	f.Add(uint16(0b100000), uint16(0b1000), uint16(0b1000000), uint16(0b100), byte(0x55))
	f.Fuzz(func(t *testing.T, a, b, c, d uint16, how byte) {
		ruleOf := func(x, y uint16, how byte) rule {
			switch how & 3 {
			case 0:
				return rule{policies: []policydecl.Policy{policyOf(x)}}
			case 1:
				return rule{open: true}
			case 2:
				return rule{}
			}
			return rule{policies: []policydecl.Policy{policyOf(x), policyOf(y)}}
		}
		def := ruleOf(c, a, how>>4)
		old, now := ruleOf(a, b, how), ruleOf(c, d, how>>2)
		if how>>6&1 == 1 {
			now.open, now.byDefault, now.unread = false, true, how>>7 == 1
			now = now.under(def)
		}
		both := old.and(now)
		set := compileOwn(t)
		for i, x := range askers {
			for _, y := range askers[i:] {
				was, is := slowAccepts(t, set, old, x, y), slowAccepts(t, set, now, x, y)
				if is && !was && !now.looserThan(old) {
					t.Fatalf("%v is accepted by %v and not by %v", x, show(now), show(old))
				}
				if got := slowAccepts(t, set, both, x, y); got != (was && is) {
					t.Fatalf("%v: %v by both of %v and %v, want %v", x, got, show(old), show(now), was && is)
				}
			}
		}
		if old.looserThan(old) || both.looserThan(old) || both.looserThan(now) || !old.equal(old.and(old)) {
			t.Errorf("%v, %v and both, %v", show(old), show(now), show(both))
		}
		if len(both.policies) > maxJoined {
			t.Errorf("%d policies", len(both.policies))
		}
	})
}

func show(r rule) string {
	var list [][]string
	for _, p := range r.policies {
		list = append(list, p.Tokens())
	}
	return fmt.Sprint(r.open, list)
}

// The readers of what a server sends are total, and whatever they cannot read is refused.
func FuzzReaders(f *testing.F) {
	for _, raw := range []string{
		`{"capabilities":{"flow":{"policy":true,"default":{"acceptFrom":["user"]}},"extensions":{"io.modelcontextprotocol/flow":{"policy":1}}}}`,
		`{"capabilities":[]}`, `{"capabilities":{"flow":[{}],"extensions":""}}`,
		`{"tools":[{"name":"x","flowPolicy":{"acceptFrom":[1,"user"]},"_meta":{"io.modelcontextprotocol/flowPolicy":[]}},7],"nextCursor":7}`,
		`{"resources":[{"uri":"x://y","flowPolicy":null},{"uri":"%","flowPolicy":{}}],"resourceTemplates":[{"uriTemplate":"{","flowPolicy":{}}]}`,
		`{"prompts":null}`, `{"tools":[{"name":"x","Name":"y"}]}`, ``, `nul`, "\xff",
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := New(Config{Approve: func(context.Context, Approval) bool { return len(raw)%2 == 0 }})
		if err != nil {
			t.Fatal(err)
		}
		c, err := h.Connect(Server{URI: ownURI, Assurance: policydecl.Verified})
		if err != nil {
			t.Fatal(err)
		}
		p := h.Open(Turn{From: []Sources{UserInput()}})
		obj, _ := decode(raw)
		for range 2 {
			fails(t, c, p, c.Hello(context.Background(), raw), "x/y", `{}`)
			fails(t, c, p, c.Page(context.Background(), policydecl.Tool, raw, true), "tools/call", `{"name":"x"}`)
			fails(t, c, p, c.Page(context.Background(), policydecl.Prompt, raw, true), "prompts/get", `{"name":"x"}`)
			fails(t, c, p, c.Page(context.Background(), policydecl.Resource, raw, true), "resources/read", `{"uri":"x://y"}`)
			fails(t, c, p, c.Page(context.Background(), policydecl.Template, raw, true), "resources/read", `{"uri":"x://y"}`)
			c.Pending()
		}
		if (obj == nil) != (c.Hello(context.Background(), raw) != nil) {
			t.Errorf("a hello that is an object %v: %v", obj != nil, c.Hello(context.Background(), raw))
		}
		r, _ := announcement(obj)
		own, _ := ownPolicy(obj)
		if r.open == (len(r.policies) > 0) || r.byDefault || own.open || len(own.policies) == 0 && !own.byDefault {
			t.Errorf("announced %+v, declared %+v", r, own)
		}
	})
}

// fails checks that nothing is sent after what cannot be read.
func fails(t *testing.T, c *Connection, p *Partition, err error, method, params string) {
	t.Helper()
	r, refusal := c.Prepare(context.Background(), p, method, json.RawMessage(params))
	if err != nil && refusal == nil {
		t.Errorf("%s was sent after %v", method, err)
	}
	if refusal == nil {
		r.Answered(context.Background())
	}
}
