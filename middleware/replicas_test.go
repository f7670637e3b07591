package middleware_test

import (
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The tests in this file serve one service from several processes, as it were: servers
// that were built apart from the same code and stand behind one address. Nothing that the
// gate says may depend on which of them a request comes to.

// replica is one of them.
type replica struct {
	r    *recipient
	gate *middleware.Gate
	book *recordBook
	http *httptest.Server
	line *httpLine // straight to it
}

// newReplica builds one.
func newReplica(t *testing.T, change func(*middleware.Config), opts ...server.StreamableHTTPOption) *replica {
	t.Helper()
	p := &replica{r: newRecipient(), book: newRecordBook()}
	cfg := p.book.config()
	if change != nil {
		change(&cfg)
	}
	g, err := middleware.New(p.r.server, cfg)
	if err != nil {
		t.Fatal(err)
	}
	h, err := g.Handler(opts...)
	if err != nil {
		t.Fatal(err)
	}
	p.gate, p.http = g, httptest.NewServer(h)
	t.Cleanup(p.http.Close)
	p.line = &httpLine{url: p.http.URL, ran: p.r.ran, client: http.DefaultClient}
	return p
}

// pool is an address behind which replicas take turns, request by request.
type pool struct {
	*httpLine
	all  []*replica
	next atomic.Int64
}

// newPool puts two replicas of the same code behind one address.
func newPool(t *testing.T, change func(*middleware.Config), opts ...server.StreamableHTTPOption) *pool {
	t.Helper()
	p := &pool{all: []*replica{newReplica(t, change, opts...), newReplica(t, change, opts...)}}
	ts := httptest.NewServer(&httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			n := p.next.Add(1) - 1
			to, _ := url.Parse(p.all[n%2].http.URL)
			r.SetURL(to)
		},
	})
	t.Cleanup(ts.Close)
	p.httpLine = &httpLine{url: ts.URL, client: ts.Client()}
	return p
}

// turn makes the replica of that number the next to answer.
func (p *pool) turn(i int) { p.next.Store(int64(i)) }

// did returns what both have done.
func (p *pool) did() map[string]int {
	sum := p.all[0].r.ran.take()
	for what, n := range p.all[1].r.ran.take() {
		sum[what] += n
	}
	return sum
}

// seen is what a client sees of an answer, but for the time.
func seen(a answer) string {
	h := a.header.Clone()
	h.Del("Date")
	h.Del("Mcp-Session-Id")
	return fmt.Sprintf("%d %v %s %s", a.status, h, a.raw, a.messages)
}

// eachRouteAndLabel calls f for all that can be compared: an accepted task has a random id,
// and an accepted listen an acknowledgement that mcp-go may drop.
func eachRouteAndLabel(f func(name string, e era, r request)) {
	for _, e := range eras {
		for _, rt := range routes {
			for _, lb := range labels {
				if lb.refusalFor(rt.firstPolicy(lb)) != "" || !rt.endless && !slices.Contains(rt.effects, "task:created") {
					r := rt.request.with(lb.label)
					r.id = `"` + rt.name + " " + lb.name + `"`
					f(string(e)+"/"+rt.name+"/"+lb.name, e, r)
				}
			}
		}
	}
}

var stateless = server.WithStateLess(true)

// narrow are overrides that leave nothing in doubt.
func narrow(cfg *middleware.Config) {
	cfg.Overrides = overrides.Overrides{Targets: []overrides.Target{
		{Kind: policydecl.Tool, Name: "search", Policy: policydecl.AcceptFrom("self", "user")},
		{Kind: policydecl.Prefix, Name: "file:///public/", Policy: onlyUser},
	}}
}

// TestReplicasAnswerAlike compares the answers of either replica, on every route and with
// every label, in both eras, with those of one that is alone: byte for byte, with status
// and headers. In the earlier era the session may be of the other replica.
func TestReplicasAnswerAlike(t *testing.T) {
	for name, change := range map[string]func(*middleware.Config){"as declared": nil, "with overrides": narrow} {
		for sessions, opts := range map[string][]server.StreamableHTTPOption{"stateless": {stateless}, "with sessions": nil} {
			t.Run(name+"/"+sessions, func(t *testing.T) {
				alone, p := newReplica(t, change, opts...), newPool(t, change, opts...)
				session, own := "", ""
				if len(opts) == 0 {
					p.turn(0) // replica 0 has had the initialize
					session, own = p.open(t), alone.line.open(t)
				}
				eachRouteAndLabel(func(cell string, e era, r request) {
					want := seen(alone.line.exchangeIn(t, e, r, own))
					ran := alone.r.ran.take()
					for i := range p.all {
						p.turn(i)
						if got := seen(p.exchangeIn(t, e, r, session)); got != want {
							t.Errorf("%s, replica %d: %s\n  want %s", cell, i, got, want)
						}
						if did := p.did(); !maps.Equal(did, ran) {
							t.Errorf("%s, replica %d did %v, want %v", cell, i, did, ran)
						}
					}
				})
				sameRecords(t, alone, p)
			})
		}
	}
}

// sameRecords compares the records of all replicas, but for what
// belongs to a session.
func sameRecords(t *testing.T, alone *replica, p *pool) {
	t.Helper()
	var want []string
	for i, rep := range append([]*replica{alone}, p.all...) {
		var got []string
		for _, r := range rep.book.peek() {
			// What the host is called and whether it labels is known where its initialize was.
			r.Took, r.Session, r.FlowOrigin, r.Client = 0, "", "", ""
			got = append(got, r.String())
		}
		if i == 0 {
			want = got
		}
		if len(got) != len(want) || len(got) == 0 {
			t.Fatalf("replica %d has %d records, want %d", i, len(got), len(want))
		}
		for n := range got {
			if got[n] != want[n] {
				t.Errorf("replica %d: %s\n  want %s", i, got[n], want[n])
			}
		}
		if rep.gate.Settings() != alone.gate.Settings() {
			t.Errorf("replica %d has the settings %s, want %s", i, rep.gate.Settings(), alone.gate.Settings())
		}
	}
}

// TestReplicasPublishAlike: lists and the greetings of both eras are the same from either,
// and say what is in force.
func TestReplicasPublishAlike(t *testing.T) {
	alone, p := newReplica(t, narrow, stateless), newPool(t, narrow, stateless)
	for _, c := range []struct{ method, params, want string }{
		{"initialize", initializeWith(`,"capabilities":{}`).params, `"flow":{"policy":true,"default":{"acceptFrom":["self","user","host","verified"]}}`},
		{"server/discover", "", `"flow":{"policy":true,"default":`},
		{"tools/list", "", `"flowPolicy":{"acceptFrom":["self","user"]}`},
		{"tools/list", `"cursor":"` + cursorAfterSearch + `"`, `"texport"`},
		{"resources/list", "", `"` + keyFlowPolicy + `":{"acceptFrom":["self","user"]}`},
		{"resources/templates/list", "", `"flowPolicy":{"acceptFrom":["user"]}`},
		{"prompts/list", "", `"flowPolicy":{"acceptFrom":["user"]}`},
	} {
		r := request{method: c.method, params: c.params}
		for _, e := range eras {
			if r.method == "initialize" && e == modern || r.method == "server/discover" && e == legacy {
				continue
			}
			one := alone.line.exchangeIn(t, e, r, "")
			if !strings.Contains(one.raw, c.want) {
				t.Errorf("%s in %s: %s\n  want %s", r.method, e, one.raw, c.want)
			}
			for i := range p.all {
				if got := p.exchangeIn(t, e, r, ""); seen(got) != seen(one) {
					t.Errorf("%s in %s, replica %d: %s\n  want %s", r.method, e, i, seen(got), seen(one))
				}
			}
		}
	}
}

// TestReplicaWithOtherSettings: a replica that was started with other overrides shows in
// its digest and in its records.
func TestReplicaWithOtherSettings(t *testing.T) {
	digests := map[string]string{}
	for name, change := range map[string]func(*middleware.Config){
		"as declared": nil, "narrow": narrow,
		"mode":       func(c *middleware.Config) { c.Mode = middleware.DangerouslyReport },
		"default":    func(c *middleware.Config) { c.Overrides.Default = onlyUser },
		"undeclared": func(c *middleware.Config) { c.DangerouslyReportUndeclared = true },
		"elsewhere":  func(c *middleware.Config) { c.URI = "https://other.example/mcp" },
	} {
		p := newReplica(t, change, stateless)
		p.line.exchangeIn(t, modern, call("export", labelX), "")
		if rec := p.book.one(t); rec.Settings != p.gate.Settings() || digests[rec.Settings] != "" {
			t.Errorf("%s has the settings %s, as has %s; its gate says %s", name, rec.Settings, digests[rec.Settings], p.gate.Settings())
		} else {
			digests[rec.Settings] = name
		}
	}
}

// TestReplicaThatDies: while one is gone, the other answers what it gets as before; what
// would have gone to the first is answered by nobody, and not loosely.
func TestReplicaThatDies(t *testing.T) {
	alone, p := newReplica(t, nil, stateless), newPool(t, nil, stateless)
	dead, cells := 0, 0
	eachRouteAndLabel(func(cell string, e era, r request) {
		if cells++; cells == 20 {
			p.all[0].http.CloseClientConnections()
			p.all[0].http.Close()
		}
		want := seen(alone.line.exchangeIn(t, e, r, ""))
		for range p.all {
			a := p.exchangeIn(t, e, r, "")
			if a.status == http.StatusBadGateway && a.raw == "" && cells >= 20 {
				dead++
			} else if got := seen(a); got != want {
				t.Errorf("%s: %s\n  want %s", cell, got, want)
			}
		}
	})
	if dead != cells-19 {
		t.Errorf("%d of %d were not answered", dead, cells)
	}
	if got, want := byID(p.all[1].book.peek()), byID(alone.book.peek()); len(got) != len(want) {
		t.Errorf("the other has records of %d requests, want %d", len(got), len(want))
	}
}
