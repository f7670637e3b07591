package middleware

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// beforeReadResource judges a read by its URI (section 6).
func (g *Gate) beforeReadResource(ctx context.Context, id any, req *mcp.ReadResourceRequest) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	r := g.recordOf(ctx)
	if r == nil {
		_ = g.unrecorded(ctx, id, about{mcp.MethodResourcesRead, req.Params.URI}) // the guard stops it
		return
	}
	r.bind(ctx, id, req.Header, mcp.MethodResourcesRead, req.Params.URI, false)
	g.judgeURI(ctx, r, req.Params.URI)
}

func (g *Gate) judgeURI(ctx context.Context, r *record, uri string) {
	var buf [4]governing
	r.judgedBy.Store(r.by())
	all, err := r.by().governURI(ctx, buf[:0], uri, false)
	if err == nil && r.about().method != mcp.MethodResourcesRead {
		all, err = g.governPlain(ctx, r, all, uri, false)
	}
	r.judgeAll(all, err)
}

// judgeAll decides on the policies of a resource, or on the error in finding them.
func (r *record) judgeAll(all []governing, err error) {
	var unreadable *uriError
	switch {
	case errors.As(err, &unreadable):
		r.reject(unreadable)
	case err != nil:
		r.fail(decision.ReasonPolicy, err)
	default:
		r.judge(all...)
	}
}

// guardResource is the innermost middleware of every read. It judges once more what
// may have changed since: the URI, by a middleware further out; the declarations; and
// which handler mcp-go has found. One that no helper has registered is governed by its own
// _meta or by the default (P4), unless Govern has said otherwise.
func (g *Gate) guardResource(next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
	last, _ := g.chains.resources.last(g.server)
	plain := codePointer(next) != ownResourceCode
	return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		if r := g.recordOf(ctx); r != nil {
			if req.Params.URI != r.about().target || r.renew() || hasOwnResources(ctx) {
				g.judgeURI(ctx, r, req.Params.URI)
			}
			if plain && r.state() == accepted {
				g.judgePlain(ctx, r, req.Params.URI)
			}
		}
		if err := g.pass(ctx, mcp.MethodResourcesRead, last, !plain); err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

// renew takes over what has been declared since the request was judged, because it may be
// what runs (D4), and reports whether there is anything. Overrides that have come into
// force since are for later requests.
func (r *record) renew() bool {
	now, by := r.gate.now(), r.judgedBy.Load()
	if by == nil || now.declarations == by.declarations {
		return by == nil
	}
	if now.applied != by.applied {
		now = r.gate.reg.under(by)
	}
	r.now.Store(now)
	return true
}

// judgePlain judges a read of what no helper has registered: by the policy that its
// author has written into its _meta by hand, and else by the default, unless Govern has
// spoken of the URI.
func (g *Gate) judgePlain(ctx context.Context, r *record, uri string) {
	own := plainHandler{}
	var meta *mcp.Meta
	if res, static := g.static(ctx, uri, g.server.ListResources); static { // else the URI is the peer's word
		_, mode := r.by().modes[key{policydecl.Resource, uri}]
		own, meta = plainHandler{key{policydecl.Resource, uri}, !mode}, res.Resource.Meta
	}
	if f, has, err := r.by().governHandler(ctx, uri, false, own, meta); err != nil {
		r.judgeAll(nil, err)
	} else if has {
		r.judge(f)
	}
}

// static returns the resource that mcp-go has at that very URI: the session's own, or else
// the server's, of which list returns a copy.
func (g *Gate) static(ctx context.Context, uri string, list func() map[string]*server.ServerResource) (server.ServerResource, bool) {
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithResources); ok {
		if own, ok := s.GetSessionResources()[uri]; ok {
			return own, true
		}
	}
	if global := list()[uri]; global != nil {
		return *global, true
	}
	return server.ServerResource{}, false
}

// sessionServes reports whether the session has a resource of its own at the URI, or a
// template that takes it.
func sessionServes(ctx context.Context, uri string) bool {
	session := server.ClientSessionFromContext(ctx)
	if s, ok := session.(server.SessionWithResources); ok {
		if _, has := s.GetSessionResources()[uri]; has {
			return true
		}
	}
	if s, ok := session.(server.SessionWithResourceTemplates); ok {
		for _, t := range s.GetSessionResourceTemplates() {
			if t.Template.URITemplate != nil && t.Template.URITemplate.Regexp().MatchString(uri) {
				return true
			}
		}
	}
	return false
}

// sessionRunsPlain reports whether the session has a template of its own that takes the URI
// and that no helper has registered, or one without a policy.
func sessionRunsPlain(ctx context.Context, uri string) bool {
	s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithResourceTemplates)
	if !ok {
		return false
	}
	for _, t := range s.GetSessionResourceTemplates() {
		if t.Template.URITemplate == nil || !t.Template.URITemplate.Regexp().MatchString(uri) {
			continue
		}
		if p, err := declared(t.Template.Meta); err != nil || p.IsZero() {
			return true
		}
	}
	return false
}

// hasOwnResources reports whether the session has resources or templates of its own.
func hasOwnResources(ctx context.Context) bool {
	session := server.ClientSessionFromContext(ctx)
	if s, ok := session.(server.SessionWithResources); ok && len(s.GetSessionResources()) > 0 {
		return true
	}
	s, ok := session.(server.SessionWithResourceTemplates)
	return ok && len(s.GetSessionResourceTemplates()) > 0
}

// beforeSubscribe judges a subscription once more. The door has decided it already,
// before anybody could count it; this is for a URI that a hook of the author's has
// changed since. Without a URI mcp-go subscribes to nothing.
func (g *Gate) beforeSubscribe(ctx context.Context, id any, req *mcp.SubscribeRequest) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	r := g.recordOf(ctx)
	if r == nil {
		if g.unrecorded(ctx, id, about{mcp.MethodResourcesSubscribe, req.Params.URI}) {
			req.Params.URI = ""
		}
		return
	}
	r.bind(ctx, id, req.Header, mcp.MethodResourcesSubscribe, req.Params.URI, false)
	if req.Params.URI == "" {
		return
	}
	if g.judgeURI(ctx, r, req.Params.URI); r.state() != accepted {
		_ = r.apply()
		req.Params.URI = ""
		return
	}
	r.conclude()
}

// beforeListen does the same for a listen stream.
func (g *Gate) beforeListen(ctx context.Context, id any, req *mcp.SubscriptionsListenRequest) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	r := g.recordOf(ctx)
	if r == nil {
		if g.unrecorded(ctx, id, about{method: mcp.MethodSubscriptionsListen}) {
			req.Params.Notifications = mcp.SubscriptionFilter{}
		}
		return
	}
	r.bind(ctx, id, req.Header, mcp.MethodSubscriptionsListen, "", false)
	uris := req.Params.Notifications.ResourceSubscriptions
	if len(uris) == 0 {
		r.skip() // it is not gated
		return
	}
	if len(uris) > maxListen { // the door has let it pass; nobody enforces
		r.note(finding{verdict: decision.Invalid, mode: r.mode(), reason: decision.ReasonTooMany, detail: errTooMany.Error()})
		uris = uris[:maxListen]
	}
	for _, uri := range uris {
		r.ask(uri)
		if g.judgeURI(ctx, r, uri); r.state() != accepted {
			_ = r.apply()
			req.Params.Notifications = mcp.SubscriptionFilter{}
			return
		}
	}
	r.conclude()
}
