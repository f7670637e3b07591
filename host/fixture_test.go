package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The servers that all tests share: one of records, a partner that is known as well, one
// accepted on first use, and two that nobody knows.
const (
	recordsURI = "https://records.example/mcp"
	partnerURI = "https://partner.example/mcp"
	newsURI    = "https://news.example/mcp"
	fetchURI   = "https://fetch.example/mcp"
	chatURI    = "https://chat.example/mcp"
	publisher  = "https://acme.example/p.json"
)

var assurances = map[string]policydecl.Assurance{
	recordsURI: policydecl.Verified, partnerURI: policydecl.Verified, newsURI: policydecl.TOFU,
}

// bench is a host with everything it has told.
type bench struct {
	*host.Host
	t testing.TB

	mu      sync.Mutex
	records []host.Record
	asked   []host.Approval
	agree   func(host.Approval) bool
}

func newBench(t testing.TB, cfg host.Config) *bench {
	t.Helper()
	b := &bench{t: t}
	cfg.Record = func(_ context.Context, r host.Record) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.records = append(b.records, r)
	}
	cfg.Approve = func(_ context.Context, a host.Approval) bool {
		b.mu.Lock()
		b.asked = append(b.asked, a)
		agree := b.agree
		b.mu.Unlock()
		return agree != nil && agree(a)
	}
	h, err := host.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.Host = h
	return b
}

// silent returns a connection to a server that has said nothing yet.
func (b *bench) silent(uri string) *host.Connection {
	b.t.Helper()
	c, err := b.Connect(host.Server{URI: uri, Assurance: assurances[uri]})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// open returns a connection to a server that asks for nothing and lists nothing.
func (b *bench) open(uri string) *host.Connection {
	b.t.Helper()
	c := b.silent(uri)
	must(b.t, c.Hello(context.Background(), []byte(`{"capabilities":{}}`)))
	for kind := range lists {
		list(b.t, c, kind, "[]")
	}
	return c
}

// lists names the member of each list.
var lists = map[policydecl.TargetKind]string{
	policydecl.Tool: "tools", policydecl.Prompt: "prompts", policydecl.Resource: "resources", policydecl.Template: "resourceTemplates",
}

// list has a connection read a list of one page.
func list(t testing.TB, c *host.Connection, kind policydecl.TargetKind, entries string) {
	t.Helper()
	must(t, c.Page(context.Background(), kind, fmt.Appendf(nil, `{%q:%s}`, lists[kind], entries), true))
	c.Fresh(kind)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// last returns the newest record.
func (b *bench) last() host.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.records) == 0 {
		return host.Record{}
	}
	return b.records[len(b.records)-1]
}

func (b *bench) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.records)
}

// send sends a request that is answered if it is sent at all, and returns its outcome and
// its label as the server reads it.
func send(t testing.TB, c *host.Connection, p *host.Partition, method, params string) (host.Outcome, policydecl.Label) {
	t.Helper()
	ctx := context.Background()
	var raw json.RawMessage
	if params != "" {
		raw = json.RawMessage(params)
	}
	r, err := c.Prepare(ctx, p, method, raw)
	if err != nil {
		refusal, ok := err.(*host.Refusal)
		if !ok || r != nil {
			t.Fatalf("%s: Prepare() = %v, %v", method, r, err)
		}
		return refusal.Record().Outcome, policydecl.Label{}
	}
	defer r.Answered(ctx)
	return host.Answered, labelIn(t, method, r.Params)
}

// labelIn reads the label of a request as strictly as a gate does.
func labelIn(t testing.TB, method string, params json.RawMessage) policydecl.Label {
	t.Helper()
	if len(params) == 0 {
		return policydecl.Label{}
	}
	req, err := wire.ReadRequest(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
	if err != nil {
		t.Fatalf("%s: what was sent is refused: %v\n%s", method, err, params)
	}
	return policydecl.ParseLabel(req.Label, policydecl.Limits{})
}

// told writes sources down: the contributors, without what all have in common, and ? if
// they are not all.
func told(s host.Sources) string {
	var list []string
	for _, c := range s.Contributors() {
		list = append(list, short(c))
	}
	if !s.Complete() {
		list = append(list, "?")
	}
	return strings.Join(list, ", ")
}

// said writes a label down in the same way. The synthetic contributor is the question mark.
func said(l policydecl.Label) string {
	var list []string
	for i, c := range l.Contributors() {
		if i == l.Len()-1 && !l.Complete() {
			list = append(list, "?")
			break
		}
		list = append(list, short(c))
	}
	return strings.Join(list, ", ")
}

func short(c policydecl.Contributor) string {
	s := strings.TrimSuffix(strings.TrimPrefix(c.Principal(), "https://"), ".example/mcp")
	s = strings.TrimSpace(strings.TrimPrefix(s, "urn:mcp:") + "=" + c.Assurance().String())
	if c.Publisher() != "" {
		s += " by " + c.Publisher()
	}
	return strings.Replace(strings.Replace(s, "user=user", "user", 1), "host=host", "host", 1)
}

// sources are what partitions are opened with in tests.
func (b *bench) sources(what string) []host.Sources {
	var list []host.Sources
	for word := range strings.SplitSeq(what, "+") {
		switch word {
		case "user":
			list = append(list, host.UserInput())
		case "host":
			list = append(list, host.HostText())
		case "unknown":
			list = append(list, host.Sources{})
		case "nothing":
			list = append(list, host.Nothing())
		default:
			c, err := b.Connect(host.Server{URI: "https://" + word + ".example/mcp", Assurance: assurances["https://"+word+".example/mcp"]})
			must(b.t, err)
			list = append(list, c.Sources())
		}
	}
	return list
}

// turn opens a partition that holds what the words say and is shown no descriptions.
func (b *bench) turn(what string) *host.Partition {
	return b.Open(host.Turn{Name: what, From: b.sources(what), Shown: []*host.Connection{}})
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func targetsOf(list []host.Approval) string {
	var names []string
	for _, a := range list {
		name := a.Target
		if name == "" {
			name = "default"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}
