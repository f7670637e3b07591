package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/internal/peer"
	"github.com/flowgate-mcp/flowgate/internal/plain"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// session is a server in one era.
type session struct {
	ctx    context.Context // of the run
	opts   *Options
	era    string
	set    *policydecl.Set
	marker string // the principal that nobody else uses
	stdio  bool

	conn      *peer.Conn
	inspected *inspect.Report
	hello     rawjson.Object
	subjects  map[string]*subject // by route
	further   map[asking]*subject // beside those
	kept      map[string]refusalOf
	ids       int
	lost      error  // why the server does not answer any more
	last      string // the request after which it was lost
	judged    bool   // a policy was seen to refuse, or not to where it must
}

// open reaches the server, reads what it lists and chooses what to ask.
func (s *session) open(target Target) error {
	cfg := peer.Config{
		URL: target.URL, Header: target.Header, Command: target.Command, Era: peer.Era(s.era),
		Name: s.opts.Name, Version: s.opts.Version, Timeout: s.opts.Timeout, Grace: s.opts.Grace, Apart: true,
	}
	if cfg.Name == "" {
		cfg.Name, cfg.Version = "flowgate-conformance", "1"
	}
	var err error
	if s.conn, err = peer.Dial(s.ctx, cfg); err != nil {
		return err
	}
	if s.inspected, err = inspect.Run(s.ctx, s.conn.Call, s.conn.Hello()); err != nil {
		s.conn.Close()
		return err
	}
	s.hello, _ = rawjson.ReadObject(s.conn.Hello())
	for name := range s.opts.Run {
		if s.inspected.Find(policydecl.Tool, name) == nil {
			s.conn.Close()
			return fmt.Errorf("the server lists no tool %s, which may run", plain.Quote(name, 80))
		}
	}
	s.choose()
	return nil
}

// reply is what came back for a request.
type reply struct {
	judge.Answer
	raw       json.RawMessage // the error object or the result
	sent      string
	disguised bool // a refusal as a tool result (X1)
	silent    bool // there was no answer in time
}

// refused reports whether a flow policy refused, in whatever form.
func (r *reply) refused() bool {
	if r.Late || r.Began != "" {
		return false
	}
	_, flow, _ := flowerrors.ReadViolation(r.raw)
	return r.Outcome == judge.Refused || r.disguised || r.Outcome == judge.RPCError && flow
}

// misdirected reports whether a result came whose id is not the request's, as it was sent.
func (r *reply) misdirected() bool {
	return r.Outcome == judge.HTTPError && r.Status == http.StatusOK && containsAny(r.Detail, `"result"`) && !containsAny(r.Detail, `"error"`)
}

// got says for people what came back.
func (r *reply) got() string {
	switch {
	case r.silent:
		return "no answer: " + r.Detail
	case r.misdirected():
		return "a result whose id is not written as it was sent, and no refusal; " + throughGate + " " + r.Detail
	case r.Late || r.Began != "" || r.raw == nil:
		return r.Text()
	case r.Nameless:
		return "without the id of the request: " + string(r.raw)
	}
	if r.Status != 0 {
		return fmt.Sprintf("HTTP status %d: %s", r.Status, r.raw)
	}
	return string(r.raw)
}

// ask sends a request.
func (s *session) ask(method string, params map[string]any, header http.Header) *reply {
	text, _ := json.Marshal(params) // what is sent was made here
	got, err := s.conn.Ask(s.ctx, method, params, header)
	return s.read(method+" "+string(text), got, err)
}

// read judges what came back. A server that is silent may be slow, but where it should
// have refused it has had the time.
func (s *session) read(sent string, got *peer.Answer, err error) *reply {
	r := &reply{sent: sent}
	if late := (*peer.TimeoutError)(nil); errors.As(err, &late) && s.ctx.Err() == nil {
		r.Outcome, r.silent, r.Detail = judge.HTTPError, true, late.Error()
		return r
	}
	if r.Answer, err = judge.Read(got, err); err != nil {
		s.lost, s.last = err, sent
		r.Outcome, r.silent, r.Detail = judge.HTTPError, true, err.Error()
		return r
	}
	if got == nil {
		return r
	}
	r.raw = got.Result
	if e := (*peer.RPCError)(nil); errors.As(got.Err, &e) {
		r.raw = e.Raw
	}
	r.disguised = r.Ran() && !r.Late && mentions(r.raw)
	return r
}

// mentions reports whether a result says that a flow policy refused (X5).
func mentions(raw []byte) bool {
	obj, err := rawjson.ReadObject(raw)
	if err != nil || string(obj.Get("isError")) != "true" {
		return false
	}
	texts := string(raw)
	return containsAny(texts, flowerrors.Message, flowerrors.ViolationKey)
}

// refusalOf is a refusal that was kept to be compared.
type refusalOf struct {
	sent    string
	got     string
	refused bool
	raw     json.RawMessage
}

// refuse sends a request of a subject with a label. meta are further members of _meta.
func (s *session) refuse(sub *subject, label string, meta map[string]any) *reply {
	params := maps.Clone(sub.params)
	all := maps.Clone(meta)
	if all == nil {
		all = map[string]any{}
	}
	if label != "" {
		all[policydecl.LabelKey] = json.RawMessage(label)
	}
	if len(all) > 0 {
		params["_meta"] = all
	}
	r := s.ask(sub.method, params, sub.headers(params))
	s.notice(sub, r)
	return r
}

// notice remembers that a subject ran although it should not have.
func (s *session) notice(sub *subject, r *reply) {
	if r.GotThrough() && !r.disguised || r.Late || r.misdirected() {
		sub.ran = true
		s.judged = true
	}
	s.judged = s.judged || r.refused()
}

// offers reports whether the server announces a capability, or a member of one.
func (s *session) offers(capability string, member string) bool {
	caps := s.hello.Object("capabilities")
	if member == "" {
		return caps.Has(capability)
	}
	return string(caps.Object(capability).Get(member)) == "true"
}

// entries returns what is listed of a kind.
func (s *session) entries(kind policydecl.TargetKind) []*inspect.Entry {
	var list []*inspect.Entry
	for i := range s.inspected.Entries {
		if e := &s.inspected.Entries[i]; e.Kind == kind && e.Name != "" {
			list = append(list, e)
		}
	}
	return slices.Clip(list)
}

// What keeps a server as a whole from being tested.
const (
	onlyReports = "the server says that it only reports (capabilities.flow.policy is false), so nothing it lists has to be refused"
	unannounced = "the server announces no flow policy; " + throughGate
	throughGate = "is it served through its gate?"
)

// ungated says what keeps the server as a whole from being tested, or "".
func (s *session) ungated() string {
	switch info := &s.inspected.Server; {
	case !info.Announced:
		return unannounced
	case !info.Enforces:
		return onlyReports
	}
	return ""
}

// none says why there is nothing to try of the kind that a check needs.
func (s *session) none(what string) string {
	return cmp.Or(s.ungated(), noneOf(what))
}

func noneOf(what string) string {
	return "the server lists " + what + " with a policy that is sure to refuse somebody"
}
