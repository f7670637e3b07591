package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// details is what a record says of a request besides what was found.
type details struct {
	about about
	known bool // the target is the server's own word
	rawID []byte
	id    any // where the text of the id is not known
	took  time.Duration
	label *policydecl.Label                    // nil: nobody has looked for one
	peer  interface{ peerOrigin() peerOrigin } // nil: unknown
	meta  *mcp.Meta                            // of a request whose context says nothing of the protocol yet

	version string // of the protocol, by the HTTP header of the request
}

// tell makes the record, if anybody wants it, and delivers it. Nothing that goes wrong
// here reaches the request.
func (g *Gate) tell(ctx context.Context, st *state, f finding, d details) {
	defer func() {
		if p := recover(); p != nil {
			g.recorder.say(ctx, slog.LevelError, "a decision record could not be made", slog.String("method", escaped(string(d.about.method))))
		}
	}()
	d.about.target = cmp.Or(f.asked, d.about.target)
	rec := decision.Record{Verdict: f.verdict, Mode: f.mode, Reason: f.reason}
	if !g.recorder.wants(ctx, rec.Level()) {
		return
	}
	rec.Time, rec.Took = time.Now(), d.took
	rec.Server, rec.Settings = st.set.URI(), st.digest
	rec.Method, rec.Detail = decision.Text(string(d.about.method)), escaped(f.detail)
	rec.Target, rec.Registered = g.targetName(st, f.target, d)
	if d.label != nil && f.verdict != decision.Unjudged {
		rec.Judged, rec.Class = true, d.label.Class()
	}
	if p := f.decision.Policy(); !p.IsZero() {
		rec.AcceptFrom, rec.Policy = p.Tokens(), p.Digest()
	}
	if f.verdict == decision.Refused {
		rec.Rejected, rec.More = rejectedOf(f.decision, d.label)
	}
	rec.RequestID = requestID(d)
	rec.Client, rec.Protocol, rec.Session = peerIdentity(ctx, d.meta)
	rec.Protocol = cmp.Or(rec.Protocol, decision.Text(cmp.Or(d.version, g.statedVersion(ctx))))
	origin := originUnknown
	if d.peer != nil {
		origin = d.peer.peerOrigin()
	}
	rec.FlowOrigin = origin.String()
	g.recorder.record(ctx, rec)
}

// rejectedOf lists whom a policy does not accept.
func rejectedOf(d policydecl.Decision, label *policydecl.Label) (list []decision.Contributor, more int) {
	rejected := d.Violation().Rejected
	for i, r := range rejected {
		if i == decision.MaxRejected {
			return list, len(rejected) - i
		}
		c := decision.Contributor{Assurance: r.Assurance, Principal: decision.Text(r.Principal)}
		if r.Principal == "" && label != nil {
			c.Unusable = unusable(label, r.Assurance)
		}
		list = append(list, c)
	}
	return list, 0
}

// unusable returns what a contributor of that assurance gave instead of a principal (L5).
func unusable(label *policydecl.Label, assurance string) string {
	for _, c := range label.Contributors() {
		if text, _ := c.Unusable(); text != "" && c.Assurance().String() == assurance {
			return text
		}
	}
	return ""
}

// targetName names what a request is about in the server's own words, as far as there are
// any. A URI that nobody has declared is reduced to its scheme, if the server has anything of that
// scheme: the rest can hold what the model knows.
func (g *Gate) targetName(st *state, k key, d details) (name string, registered bool) {
	if byURI(k.kind) {
		return decision.Text(k.name), true
	}
	if d.about.target == "" {
		return "", false
	}
	kind := policydecl.Tool
	switch d.about.method {
	case mcp.MethodToolsCall:
	case mcp.MethodPromptsGet:
		kind = policydecl.Prompt
	default:
		if k.kind != policydecl.Prompt { // else a completion for a prompt
			return uriName(st, d.about.target)
		}
		kind = policydecl.Prompt
	}
	_, known := g.reg.known.Load(key{kind, d.about.target})
	return decision.Text(d.about.target), known || d.known
}

// uriName is targetName for a URI without a policy of its own.
func uriName(st *state, uri string) (name string, registered bool) {
	names := st.named()
	if found, _, err := names.find(nil, uri, true); err == nil && len(found) > 0 {
		return decision.Text(names.keys[found[0]].name), true
	}
	scheme, _, ok := strings.Cut(uri, ":")
	if scheme = strings.ToLower(scheme); !ok || !names.schemes[scheme] {
		return "", false
	}
	return decision.Text(scheme + ":"), false
}

// requestID is the JSON text of the id.
func requestID(d details) string {
	if d.rawID == nil && d.id != nil {
		d.rawID, _ = json.Marshal(d.id)
	}
	return decision.Text(string(d.rawID))
}

// peerIdentity returns what the peer calls itself, its protocol and the hash of its
// session. meta is that of the request if ctx does not say yet what it holds.
func peerIdentity(ctx context.Context, meta *mcp.Meta) (client, protocol, session string) {
	protocol = server.RequestProtocolVersion(ctx)
	if meta != nil && mcp.IsModernProtocol(meta.ProtocolVersion()) {
		protocol = meta.ProtocolVersion()
		if info := meta.ClientInfo(); info != nil {
			client = info.Name
		}
	}
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern && info.ClientInfo != nil {
		client = info.ClientInfo.Name
	}
	if s := server.ClientSessionFromContext(ctx); s != nil {
		if named, ok := s.(server.SessionWithClientInfo); ok && client == "" {
			client = named.GetClientInfo().Name
		}
		if id := s.SessionID(); id != "" {
			session = policydecl.DigestOf(id)
		}
	}
	return decision.Text(client), decision.Text(protocol), session
}
