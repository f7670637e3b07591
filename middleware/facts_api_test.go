package middleware_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/internal/wire"
)

// bxMethods lists every method that HandleMessage knows, whether the gate judges it,
// and why not.
var bxMethods = map[string]struct {
	gated bool
	why   string
}{
	"MethodInitialize":             {false, "names the client; carries nothing of a model's"},
	"MethodPing":                   {false, "carries nothing"},
	"MethodServerDiscover":         {false, "carries nothing"},
	"MethodSubscriptionsListen":    {true, ""},
	"MethodSetLogLevel":            {false, "one of eight words"},
	"MethodResourcesList":          {false, "a cursor that the server gave out"},
	"MethodResourcesTemplatesList": {false, "a cursor that the server gave out"},
	"MethodResourcesRead":          {true, ""},
	"MethodResourcesSubscribe":     {true, ""},
	"MethodResourcesUnsubscribe":   {false, "only takes back what a gated request made"},
	"MethodPromptsList":            {false, "a cursor that the server gave out"},
	"MethodPromptsGet":             {true, ""},
	"MethodToolsList":              {false, "a cursor that the server gave out"},
	"MethodToolsCall":              {true, ""},
	"MethodTasksGet":               {false, "an id that a gated request made"},
	"MethodTasksList":              {false, "a cursor that the server gave out"},
	"MethodTasksResult":            {false, "an id that a gated request made"},
	"MethodTasksCancel":            {false, "an id that a gated request made"},
	"MethodCompletionComplete":     {true, ""},
}

// bxModule returns the folder of mcp-go's source.
func bxModule(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/mark3labs/mcp-go").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// A method that mcp-go learns fails here until somebody has decided about it.
func TestFactMethods(t *testing.T) {
	path := filepath.Join(bxModule(t), "server", "request_handler.go")
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "HandleMessage" {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			s, ok := n.(*ast.SwitchStmt)
			if !ok {
				return true
			}
			for _, c := range s.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					got = append(got, e.(*ast.SelectorExpr).Sel.Name)
				}
			}
			return true
		})
	}
	slices.Sort(got)
	if want := slices.Sorted(maps.Keys(bxMethods)); !slices.Equal(got, want) {
		t.Errorf("HandleMessage knows %v, this test knows %v", got, want)
	}
	for name, m := range bxMethods {
		if m.gated != (m.why == "") {
			t.Errorf("%s: say why it is not gated", name)
		}
	}
	// No other function of the package dispatches requests by method.
	dispatchers := map[string]int{}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.go"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files in the package: %v", len(files), err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				if s, ok := c.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{
					"handleToolCall", "handleReadResource", "handleGetPrompt", "handleComplete", "handleSubscribe", "handleSubscriptionsListen", "handleTaskAugmentedToolCall",
				}, s.Sel.Name) {
					dispatchers[s.Sel.Name+" in "+filepath.Base(name)]++
				}
			}
			return true
		})
	}
	want := map[string]int{"handleToolCall in request_handler.go": 1, "handleReadResource in request_handler.go": 1, "handleGetPrompt in request_handler.go": 1,
		"handleComplete in request_handler.go": 1, "handleSubscribe in request_handler.go": 1, "handleSubscriptionsListen in request_handler.go": 1,
		"handleTaskAugmentedToolCall in server.go": 1}
	if !maps.Equal(dispatchers, want) {
		t.Errorf("handlers are called from %v, want %v", dispatchers, want)
	}
}

// The lists and slots that the gate looks at by reflection.
func TestFactFields(t *testing.T) {
	for _, c := range []struct {
		of    reflect.Type
		field string
		is    string
	}{
		{reflect.TypeFor[server.MCPServer](), "toolFilters", "[]server.ToolFilterFunc"},
		{reflect.TypeFor[server.MCPServer](), "promptFilters", "[]server.PromptFilterFunc"},
		{reflect.TypeFor[server.MCPServer](), "toolHandlerMiddlewares", "[]server.ToolHandlerMiddleware"},
		{reflect.TypeFor[server.MCPServer](), "resourceHandlerMiddlewares", "[]server.ResourceHandlerMiddleware"},
		{reflect.TypeFor[server.MCPServer](), "promptHandlerMiddlewares", "[]server.PromptHandlerMiddleware"},
		{reflect.TypeFor[server.MCPServer](), "metaPropagator", "tracing.MetaPropagator"},
		{reflect.TypeFor[server.StreamableHTTPServer](), "eventStore", "server.EventStore"},
	} {
		f, ok := c.of.FieldByName(c.field)
		if !ok || f.Type.String() != c.is {
			t.Errorf("%s.%s is a %v, want %s", c.of, c.field, f.Type, c.is)
		}
	}
}

// Every member name that mcp-go decodes beside `arguments` is one that a reader of
// raw bytes knows, so that its other spellings are refused (L8).
func TestFactMemberNames(t *testing.T) {
	upper := func(where, name string) {
		t.Helper()
		other := strings.ToUpper(name)
		if other == name {
			other = strings.ToLower(name)
		}
		msg := fmt.Sprintf(where, other)
		if _, err := wire.ReadRequest([]byte(msg)); err == nil && other != name {
			t.Errorf("mcp-go decodes %q; its other spelling passes: %s", name, msg)
		}
	}
	for _, name := range []string{"jsonrpc", "method", "id", "result", "error", "params"} {
		upper(`{%q:1}`, name)
	}
	params := 0
	for _, request := range []any{
		mcp.CallToolRequest{}, mcp.ReadResourceRequest{}, mcp.SubscribeRequest{}, mcp.UnsubscribeRequest{}, mcp.GetPromptRequest{}, mcp.CompleteRequest{},
		mcp.SubscriptionsListenRequest{}, mcp.ListToolsRequest{}, mcp.ListPromptsRequest{}, mcp.ListResourcesRequest{}, mcp.GetTaskRequest{}, mcp.SetLevelRequest{}, mcp.InitializeRequest{},
	} {
		f, ok := reflect.TypeOf(request).FieldByName("Params")
		if !ok {
			t.Fatalf("%T has no Params", request)
		}
		for _, name := range bxJSONNames(f.Type) {
			params++
			upper(`{"params":{%q:1}}`, name)
		}
	}
	if params < 25 {
		t.Errorf("found only %d members of params", params)
	}
	for where, typ := range map[string]reflect.Type{
		"ref": reflect.TypeFor[mcp.PromptReference](), "ref ": reflect.TypeFor[mcp.ResourceReference](), "task": reflect.TypeFor[mcp.TaskParams](),
		"notifications": reflect.TypeFor[mcp.SubscriptionFilter](),
	} {
		for _, name := range bxJSONNames(typ) {
			upper(`{"params":{"`+strings.TrimSpace(where)+`":{%q:1}}}`, name)
		}
	}
}

// bxJSONNames lists the names that encoding/json decodes into a struct.
func bxJSONNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-":
		case f.Anonymous && tag == "":
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			names = append(names, bxJSONNames(inner)...)
		case tag != "":
			names = append(names, tag)
		case f.IsExported():
			names = append(names, f.Name)
		}
	}
	return names
}
