package middleware

import (
	"reflect"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// This file is the only one that names what the gate relies on inside mcp-go
// beyond its documented API. facts*_test.go pins each of these facts, and New
// checks those that a running program can check.

// gated names the requests whose parameters can carry content from the model's
// context (section 5). Every other method of mcp-go v1.2.1 either reaches no
// code of a server's author or carries nothing of the model's; facts*_test.go
// holds the list of all methods and fails when mcp-go learns a new one.
func gated(method string) bool {
	switch mcp.MCPMethod(method) {
	case mcp.MethodToolsCall, mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe,
		mcp.MethodSubscriptionsListen, mcp.MethodPromptsGet, mcp.MethodCompletionComplete:
		return true
	}
	return false
}

// Unexported fields of server.MCPServer whose length, last element or emptiness
// the gate looks at. It never writes them and never takes a value out of them.
const (
	fieldToolFilters    = "toolFilters"
	fieldPromptFilters  = "promptFilters"
	fieldToolChain      = "toolHandlerMiddlewares"
	fieldResourceChain  = "resourceHandlerMiddlewares"
	fieldPromptChain    = "promptHandlerMiddlewares"
	fieldMetaPropagator = "metaPropagator"
)

// fieldEventStore is the unexported field of server.StreamableHTTPServer that
// holds what WithEventStore set.
const fieldEventStore = "eventStore"

// seam identifies one place inside mcp-go where the gate stands: a list that
// runs in order, in which the gate has to be last.
type seam struct {
	field string  // name of the unexported field
	index []int   // where that field is
	code  uintptr // code pointer of the gate's own element
}

// newSeam finds the list named field in s. own is the function that the gate
// has added or will add to it.
func newSeam(s *server.MCPServer, field string, own any) (seam, error) {
	f, ok := reflect.TypeOf(s).Elem().FieldByName(field)
	if !ok || f.Type.Kind() != reflect.Slice || f.Type.Elem().Kind() != reflect.Func {
		return seam{}, unknownVersion(field)
	}
	return seam{field: field, index: f.Index, code: codePointer(own)}, nil
}

// last reports whether the gate's element is the last of the list, and whether it
// is alone there. The caller holds mcp-go's lock for that list, or knows that nobody
// else can reach s yet.
func (m seam) last(s *server.MCPServer) (last, alone bool) {
	list := reflect.ValueOf(s).Elem().FieldByIndex(m.index)
	n := list.Len()
	return n > 0 && list.Index(n-1).Pointer() == m.code, n == 1
}

// unknownVersion is the mistake of building with an mcp-go whose insides differ.
func unknownVersion(field string) *flowerrors.ConfigError {
	return &flowerrors.ConfigError{
		Path: "mcp-go", Value: field, Reason: flowerrors.ReasonUnsupported,
		Detail: "this version of mcp-go does not keep it as the gate needs to see it",
		Hint:   "use the version of mcp-go that flowgate's go.mod names",
	}
}

// codePointer returns the address of a function's code. All method values of
// one method share it, which is what is wanted: two gates whose servers share
// one *server.Hooks recognise each other's hooks.
func codePointer(fn any) uintptr { return reflect.ValueOf(fn).Pointer() }

// hasMetaPropagator reports whether somebody has filled mcp-go's one slot for a
// propagator of _meta, which has no getter.
func hasMetaPropagator(s *server.MCPServer) (bool, error) {
	f := reflect.ValueOf(s).Elem().FieldByName(fieldMetaPropagator)
	if !f.IsValid() || f.Kind() != reflect.Interface {
		return false, unknownVersion(fieldMetaPropagator)
	}
	return !f.IsNil(), nil
}

// Unexported maps of declarations that have no getter.
const (
	fieldTemplates = "resourceTemplates"
	fieldTaskTools = "taskTools"
)

// namesWithPolicy returns the keys of a map of s whose declarations, in the field
// decl of its elements, hold a policy in their _meta. Nobody else can reach s yet.
func namesWithPolicy(s *server.MCPServer, field, decl string) ([]string, error) {
	m := reflect.ValueOf(s).Elem().FieldByName(field)
	if !m.IsValid() || m.Kind() != reflect.Map || m.Type().Key().Kind() != reflect.String || m.Type().Elem().Kind() != reflect.Struct {
		return nil, unknownVersion(field)
	}
	d, ok := m.Type().Elem().FieldByName(decl)
	if !ok || d.Type != reflect.TypeFor[mcp.ResourceTemplate]() && d.Type != reflect.TypeFor[mcp.Tool]() {
		return nil, unknownVersion(field)
	}
	var names []string
	for _, key := range m.MapKeys() {
		meta := m.MapIndex(key).FieldByIndex(d.Index).FieldByName("Meta")
		if meta.IsNil() {
			continue
		}
		if meta.Elem().FieldByName("AdditionalFields").MapIndex(reflect.ValueOf(policydecl.PolicyKey)).IsValid() {
			names = append(names, key.String())
		}
	}
	slices.Sort(names)
	return names, nil
}

// keysOf returns the keys of a map of s. Nobody else can reach s yet.
func keysOf(s *server.MCPServer, field string) ([]string, error) {
	m := reflect.ValueOf(s).Elem().FieldByName(field)
	if !m.IsValid() || m.Kind() != reflect.Map || m.Type().Key().Kind() != reflect.String {
		return nil, unknownVersion(field)
	}
	names := make([]string, 0, m.Len())
	for _, key := range m.MapKeys() {
		names = append(names, key.String())
	}
	slices.Sort(names)
	return names, nil
}

// hasEventStore reports whether h answers on resumable streams.
func hasEventStore(h *server.StreamableHTTPServer) (bool, error) {
	f := reflect.ValueOf(h).Elem().FieldByName(fieldEventStore)
	if !f.IsValid() || f.Kind() != reflect.Interface {
		return false, unknownVersion(fieldEventStore)
	}
	return !f.IsNil(), nil
}

// hookSeams compares what the gate put into the hooks with what is there now.
type hookSeams struct {
	hooks *server.Hooks

	init, call, read, prompt, complete, subscribe, listen int
}

// installHooks appends the gate's hooks. Appending makes each the last of its
// list, so no hook that the author added before can change what it has seen.
func (g *Gate) installHooks() {
	h := g.server.GetHooks()
	if h == nil {
		h = &server.Hooks{}
		server.WithHooks(h)(g.server)
	}
	g.hooks = hookSeams{
		hooks: h, init: len(h.OnRequestInitialization), call: len(h.OnBeforeCallTool),
		read: len(h.OnBeforeReadResource), prompt: len(h.OnBeforeGetPrompt), complete: len(h.OnBeforeComplete),
		subscribe: len(h.OnBeforeSubscribe), listen: len(h.OnBeforeSubscriptionsListen),
	}
	// The first, so that no hook of the author's delays or stops them. No verdict
	// depends on any but the first, so hooksIntact does not ask for them.
	h.OnRegisterSession = slices.Insert(h.OnRegisterSession, 0, server.OnRegisterSessionHookFunc(g.joinSession))
	h.OnUnregisterSession = slices.Insert(h.OnUnregisterSession, 0, server.OnUnregisterSessionHookFunc(g.leaveSession))
	h.OnAfterInitialize = slices.Insert(h.OnAfterInitialize, 0, server.OnAfterInitializeFunc(g.afterInitialize))
	h.OnSuccess = slices.Insert(h.OnSuccess, 0, server.OnSuccessHookFunc(g.afterSuccess))
	h.OnError = slices.Insert(h.OnError, 0, server.OnErrorHookFunc(g.afterError))
	h.AddOnRequestInitialization(g.door)
	h.AddBeforeCallTool(g.beforeCallTool)
	h.AddBeforeReadResource(g.beforeReadResource)
	h.AddBeforeGetPrompt(g.beforeGetPrompt)
	h.AddBeforeComplete(g.beforeComplete)
	h.AddBeforeSubscribe(g.beforeSubscribe)
	h.AddBeforeSubscriptionsListen(g.beforeListen)
	h.AddAfterListTools(g.afterListTools)
	h.AddAfterListPrompts(g.afterListPrompts)
	h.AddAfterListResources(g.afterListResources)
	h.AddAfterListResourceTemplates(g.afterListTemplates)
}

// hooksIntact reports whether mcp-go still runs the gate's hooks, and runs them
// last (G6). It reads what mcp-go itself reads without a lock for every request.
func (g *Gate) hooksIntact() bool {
	h := g.server.GetHooks()
	return h != nil && h == g.hooks.hooks &&
		lastFrom(h.OnRequestInitialization, g.hooks.init, g.codes.door) &&
		lastFrom(h.OnBeforeCallTool, g.hooks.call, g.codes.call) &&
		lastFrom(h.OnBeforeReadResource, g.hooks.read, g.codes.read) &&
		lastFrom(h.OnBeforeGetPrompt, g.hooks.prompt, g.codes.prompt) &&
		lastFrom(h.OnBeforeComplete, g.hooks.complete, g.codes.complete) &&
		lastFrom(h.OnBeforeSubscribe, g.hooks.subscribe, g.codes.subscribe) &&
		lastFrom(h.OnBeforeSubscriptionsListen, g.hooks.listen, g.codes.listen)
}

// announced reports whether mcp-go still runs the two hooks by which a call gets to its
// record. The door, which has run then, has looked at all of them.
func (g *Gate) announced() bool {
	h := g.server.GetHooks()
	return h != nil && h == g.hooks.hooks &&
		lastFrom(h.OnRequestInitialization, g.hooks.init, g.codes.door) &&
		lastFrom(h.OnBeforeCallTool, g.hooks.call, g.codes.call)
}

// hookCodes holds the code pointers of the gate's hooks.
type hookCodes struct{ door, call, read, prompt, complete, subscribe, listen uintptr }

func (g *Gate) hookCodes() hookCodes {
	return hookCodes{
		door: codePointer(g.door), call: codePointer(g.beforeCallTool), read: codePointer(g.beforeReadResource),
		prompt: codePointer(g.beforeGetPrompt), complete: codePointer(g.beforeComplete),
		subscribe: codePointer(g.beforeSubscribe), listen: codePointer(g.beforeListen),
	}
}

// lastFrom reports whether the list still has the gate's hook at place i and
// nothing but hooks of gates after it.
func lastFrom[F any](list []F, i int, code uintptr) bool {
	if i >= len(list) {
		return false
	}
	for _, hook := range list[i:] {
		if codePointer(hook) != code {
			return false
		}
	}
	return true
}

// chains holds the lists besides the hooks in which the gate stands last.
type chains struct {
	toolFilters, promptFilters, tools, resources, prompts seam
}

// installChains appends the gate's filters and middleware. The first middleware
// that mcp-go holds is the outermost and the last the innermost, so the gate's
// runs right before the handler.
func (g *Gate) installChains() error {
	var err error
	find := func(dst *seam, field string, own any) {
		m, e := newSeam(g.server, field, own)
		*dst = m
		if e != nil && err == nil {
			err = e
		}
	}
	find(&g.chains.toolFilters, fieldToolFilters, server.ToolFilterFunc(g.filterTools))
	find(&g.chains.promptFilters, fieldPromptFilters, server.PromptFilterFunc(g.filterPrompts))
	find(&g.chains.tools, fieldToolChain, server.ToolHandlerMiddleware(g.guardTool))
	find(&g.chains.resources, fieldResourceChain, server.ResourceHandlerMiddleware(g.guardResource))
	find(&g.chains.prompts, fieldPromptChain, server.PromptHandlerMiddleware(g.guardPrompt))
	if err != nil {
		return err
	}
	server.WithToolFilter(g.filterTools)(g.server)
	server.WithPromptFilter(g.filterPrompts)(g.server)
	server.WithToolHandlerMiddleware(g.guardTool)(g.server)
	server.WithResourceHandlerMiddleware(g.guardResource)(g.server)
	server.WithPromptHandlerMiddleware(g.guardPrompt)(g.server)
	_, alone := g.chains.promptFilters.last(g.server)
	g.hidesPrompts = !alone
	for _, m := range []seam{g.chains.toolFilters, g.chains.promptFilters, g.chains.tools, g.chains.resources, g.chains.prompts} {
		if last, _ := m.last(g.server); !last {
			return unknownVersion(m.field)
		}
	}
	return nil
}
