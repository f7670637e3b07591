package policydecl_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// start and allowed hold the Go code of the package documentation, which a test in the root
// of the repository looks up here.
func start(cfg policydecl.Config, serve func(*policydecl.Set)) error {
	set, err := policydecl.Compile(cfg)
	if err != nil {
		return err // every mistake in cfg
	}
	serve(set)
	return nil
}

func allowed(ctx context.Context, set *policydecl.Set, uri string, meta map[string]any, baseAnswer bool) bool {
	limits := policydecl.Limits{}
	value, present := meta[policydecl.LabelKey]
	label := policydecl.LabelOf(value, present, limits)
	policies, err := set.Resource(nil, uri) // or set.Tool(name)
	if err != nil {
		return false // the URI cannot be judged
	}
	decision := set.Decide(ctx, &label, policies...)
	return policydecl.Restrict(baseAnswer, decision)
}

// Every reading of a URI counts: what a template leads to may be what a stricter prefix is
// about.
func ExampleSet_Resource() {
	cfg := policydecl.Config{
		URI: "https://files.example/mcp",
		Targets: []policydecl.Declaration{
			{Kind: policydecl.Template, Name: "file:///{+path}", Policy: policydecl.AcceptFrom("self", "user", "unverified")},
			{Kind: policydecl.Prefix, Name: "file:///secret/", Policy: policydecl.AcceptFrom("user")},
		},
	}
	page := map[string]any{policydecl.LabelKey: map[string]any{
		"contributors": []any{map[string]any{"assurance": "unverified"}}, "complete": true,
	}}
	err := start(cfg, func(set *policydecl.Set) {
		for _, uri := range []string{"file:///public/a", "file:///public/%2e%2e/secret/a"} {
			fmt.Println(uri, allowed(context.Background(), set, uri, page, true))
		}
	})
	fmt.Println(err)
	// Output:
	// file:///public/a true
	// file:///public/%2e%2e/secret/a false
	// <nil>
}

// The schemas are files that an editor or a validator in another language can be given.
func ExampleSchemas() {
	dir, err := os.MkdirTemp("", "schemas-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, policydecl.Schemas()); err != nil {
		fmt.Println(err)
		return
	}
	names, err := fs.Glob(os.DirFS(dir), "*.schema.json")
	for _, name := range names {
		fmt.Println(name)
	}
	fmt.Println(err)
	// Output:
	// declaration.schema.json
	// flow-origin.schema.json
	// flow-policy-violation.schema.json
	// flow-policy.schema.json
	// prompt.schema.json
	// resource-template.schema.json
	// resource.schema.json
	// tool.schema.json
	// <nil>
}
