package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// registry holds what the registration helpers were told about one server,
// before and after its gate is built. Policies of tools and prompts are looked up
// one by one; those of resources are compiled together into an immutable set behind
// an atomic pointer.
type registry struct {
	byName sync.Map // target -> policydecl.Policy
	unfit  sync.Map // target -> the tokens of a listed policy that cannot be adopted

	known sync.Map // key -> true: what the server has or had, with a policy or without

	knownURIs atomic.Uint64 // how many of them are found by URI

	mu     sync.Mutex
	order  []target // resources, templates and prefixes, as declared
	faults []error  // of helpers called before there was a gate
	gate   *Gate

	// What the code says about that which overrides can change; set by New.
	base       policydecl.Config // without targets
	mode       Mode              // of the server
	modes      map[key]Mode      // of targets that have their own
	undeclared bool
	codeDigest string
	resumable  bool // a transport was served that the gate covers only while it is off

	now  atomic.Pointer[state] // in force; nil until there is a gate
	live atomic.Pointer[Gate]  // the gate
}

// target is what a policy is about, and who said so.
type target struct {
	kind   policydecl.TargetKind
	name   string
	origin origin
}

// origin says where a policy comes from.
type origin uint8

const (
	byGovern   origin = iota // set by Govern
	helper                   // attached to a declaration, by a helper or by hand
	taskHelper               // attached to a task tool, of which mcp-go shows nothing
)

// String names the origin in errors.
func (o origin) String() string {
	if o == byGovern {
		return "Govern"
	}
	return "a registration helper"
}

// registryMethod names a notification that nobody sends over the wire.
const registryMethod = "notifications/flowgate/registry"

// registryRequest is the context value by which registryOf asks.
type registryRequest struct{ answer *registry }

// attach makes it one registry for one server.
var attach sync.Mutex

// registryOf returns the registry of s and makes it on the first call.
//
// A server has no place for somebody else's state, but it keeps notification
// handlers, runs them without any hook, and gives them the caller's context. So
// the registry lives in such a handler, as long as its server lives, and is asked
// for in process. A peer that sends the notification carries no such context and
// gets nothing.
func registryOf(s *server.MCPServer) *registry {
	attach.Lock()
	defer attach.Unlock()
	ask := func() *registry {
		var request registryRequest
		ctx := context.WithValue(context.Background(), registryKey{}, &request)
		s.HandleMessage(ctx, json.RawMessage(`{"jsonrpc":"2.0","method":"`+registryMethod+`"}`))
		return request.answer
	}
	if r := ask(); r != nil {
		return r
	}
	r := &registry{}
	s.AddNotificationHandler(registryMethod, func(ctx context.Context, _ mcp.JSONRPCNotification) {
		if request, ok := ctx.Value(registryKey{}).(*registryRequest); ok {
			request.answer = r
		}
	})
	return r
}

type registryKey struct{}

// declare records a policy. registered says whether the server still has something
// of that name, without which an earlier declaration is forgotten; only Govern may
// speak twice. With a gate in place the declarations of resources are compiled at
// once, whole or not at all.
func (r *registry) declare(t target, p policydecl.Policy, registered func() bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	undo, err := r.record(t, p, registered)
	if err != nil || r.gate == nil || t.kind == policydecl.Tool || t.kind == policydecl.Prompt {
		return err
	}
	if err = r.recompile(); err != nil {
		undo()
	}
	return err
}

// listed is the declaration of a resource or template that was found in a list.
type listed struct {
	target
	policy policydecl.Policy
}

// tokens is the text of the policy, to know it again.
func (d listed) tokens() string { return strings.Join(d.policy.Tokens(), " ") }

// failed is a declaration from a list that cannot be declared.
type failed struct {
	listed
	err error
}

// adoptListed declares what was found in a list, in one go, in place of what was known of
// the same names. It returns those that cannot be declared.
func (r *registry) adoptListed(found []listed) (rest []failed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := func() bool { return false }
	var undos []func()
	var all []listed
	for _, d := range found {
		undo, err := r.record(d.target, d.policy, gone)
		if err != nil {
			rest = append(rest, failed{d, err})
			continue
		}
		undos, all = append(undos, undo), append(all, d)
	}
	if len(all) == 0 || r.recompile() == nil {
		return rest
	}
	for _, undo := range slices.Backward(undos) {
		undo()
	}
	for _, d := range all { // which of them is it?
		undo, err := r.record(d.target, d.policy, gone)
		if err == nil {
			if err = r.recompile(); err != nil {
				undo()
			}
		}
		if err != nil {
			rest = append(rest, failed{d, err})
		}
	}
	return rest
}

// record notes a policy, without compiling, and returns what takes it back. The caller
// holds r.mu.
func (r *registry) record(t target, p policydecl.Policy, registered func() bool) (undo func(), err error) {
	var gone []listed
	for o := byGovern; o <= taskHelper; o++ {
		earlier := target{t.kind, t.name, o}
		if r.lookup(earlier).IsZero() || o == byGovern && t.origin == byGovern {
			continue
		}
		if r.gate != nil && t.kind == policydecl.Template && t.origin == o && slices.Equal(r.lookup(t).Tokens(), p.Tokens()) {
			continue // it may have been removed, which mcp-go shows to nobody
		}
		if o == byGovern || registered() {
			return nil, &flowerrors.ConfigError{
				Path: targetPath(t.kind, t.name), Reason: flowerrors.ReasonDuplicate,
				Detail: "declared twice, first by " + o.String() + " and now by " + t.origin.String() + "; the first stays",
				Hint:   onceHint(o, t),
			}
		}
		gone = append(gone, listed{earlier, r.lookup(earlier)})
		r.forget(earlier)
	}
	if before := r.lookup(t); !before.IsZero() {
		gone = append(gone, listed{t, before})
	}
	r.put(t, p)
	return func() {
		r.forget(t)
		for _, d := range gone {
			r.put(d.target, d.policy)
		}
	}, nil
}

// onceHint says how to declare again what was declared before, by o.
func onceHint(o origin, t target) string {
	switch {
	case o == byGovern || t.origin == byGovern || t.kind == policydecl.Template:
		return "declare its policy in one place"
	case t.kind == policydecl.Tool:
		return "declare it once; to replace it, take it from the server first, with DeleteTools"
	case t.kind == policydecl.Prompt:
		return "declare it once; to replace it, take it from the server first, with DeletePrompts"
	}
	return "declare it once; to replace it, take it from the server first, with DeleteResources"
}

// put stores a policy. The caller holds r.mu.
func (r *registry) put(t target, p policydecl.Policy) {
	if _, known := r.byName.Swap(t, p); !known && t.kind != policydecl.Tool && t.kind != policydecl.Prompt {
		r.order = append(r.order, t)
	}
}

// withdraw takes back what helpers were told about a target, which is now left to the
// default.
func (r *registry) withdraw(t target) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := false
	for _, o := range []origin{helper, taskHelper} {
		if earlier := (target{t.kind, t.name, o}); !r.lookup(earlier).IsZero() {
			r.forget(earlier)
			changed = true
		}
	}
	if !changed || r.gate == nil {
		return nil
	}
	return r.recompile()
}

// recompile puts the declarations of resources in force, whole or not at all. The
// caller holds r.mu.
func (r *registry) recompile() error {
	var before state
	if st := r.now.Load(); st != nil {
		before = state{over: st.over, loosened: st.loosened, applied: st.applied, declarations: st.declarations}
	}
	st, err := r.compile(before.over)
	if err == nil {
		st.applied, st.declarations, st.loosened = before.applied, before.declarations+1, before.loosened
		r.now.Store(st)
	}
	return err
}

// under returns the declarations that are in force now under the overrides of an earlier
// state, by which a request goes on being judged.
func (r *registry) under(by *state) *state {
	r.mu.Lock()
	defer r.mu.Unlock()
	st, err := r.compile(by.over)
	if err != nil {
		return r.now.Load() // the stricter of two that do not fit any more is not known
	}
	st.applied, st.declarations = by.applied, r.now.Load().declarations
	return st
}

// forget drops a declaration. The caller holds r.mu.
func (r *registry) forget(t target) {
	r.byName.Delete(t)
	r.order = slices.DeleteFunc(r.order, func(have target) bool { return have == t })
}

// lookup returns a policy that was recorded, or an absent one.
func (r *registry) lookup(t target) policydecl.Policy {
	v, _ := r.byName.Load(t)
	p, _ := v.(policydecl.Policy)
	return p
}

// note keeps the fault of a helper for New, which reports them all together.
func (r *registry) note(err error) error {
	if err == nil {
		return nil
	}
	r.mu.Lock()
	g := r.gate
	if g == nil {
		r.faults = append(r.faults, err)
	}
	r.mu.Unlock()
	if g != nil {
		// Without the lock: the logger is the author's and may declare something.
		g.recorder.say(context.Background(), slog.LevelError, "flowgate: a declaration was refused", slog.String("error", err.Error()))
	}
	return err
}

// targets lists the declarations for Compile: those of resources, and with all those
// of tools and prompts too, so that their mistakes are among the errors. The caller
// holds r.mu.
func (r *registry) targets(all bool) []policydecl.Declaration {
	list := r.order
	if all {
		var named []target
		r.byName.Range(func(k, _ any) bool {
			if t := k.(target); t.kind == policydecl.Tool || t.kind == policydecl.Prompt {
				named = append(named, t)
			}
			return true
		})
		slices.SortFunc(named, func(a, b target) int {
			return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
		})
		list = slices.Concat(named, list)
	}
	out := make([]policydecl.Declaration, 0, len(list))
	for _, t := range list {
		out = append(out, policydecl.Declaration{Kind: t.kind, Name: t.name, Policy: r.lookup(t)})
	}
	return out
}

// now returns the state in force. A request asks once and keeps to it.
func (g *Gate) now() *state { return g.reg.now.Load() }

// compareKeys orders keys.
func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
}

// targetPath is where a declaration stands in an error.
func targetPath(kind policydecl.TargetKind, name string) string {
	return kind.String() + "[" + strconv.QuoteToASCII(name) + "]"
}

// errGated says that a server has its gate already.
var errGated = &flowerrors.ConfigError{
	Path: "server", Reason: flowerrors.ReasonConflict,
	Detail: "it has a gate already", Hint: "call middleware.New once and use the Gate's Handler, ServeStdio and InProcess",
}
