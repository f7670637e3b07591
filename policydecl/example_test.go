package policydecl_test

import (
	"context"
	"encoding/json"
	"fmt"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// A server declares what it accepts, reads the label of a request and lets the decision
// lower its own answer.
func Example() {
	set, err := policydecl.Compile(policydecl.Config{
		URI: "https://records.example/mcp",
		Targets: []policydecl.Declaration{
			{Kind: policydecl.Tool, Name: "export", Policy: policydecl.AcceptFrom("self", "user")},
		},
	})
	if err != nil {
		panic(err)
	}

	// The _meta of a request, as the SDK decoded it.
	meta := map[string]any{policydecl.LabelKey: map[string]any{
		"contributors": []any{
			map[string]any{"principal": "urn:mcp:user", "assurance": "user"},
			map[string]any{"principal": "https://fetch.example/mcp", "assurance": "unverified"},
		},
		"complete": true,
	}}
	value, present := meta[policydecl.LabelKey]
	label := policydecl.LabelOf(value, present, policydecl.Limits{})

	policy, _ := set.Tool("export")
	decision := set.Decide(context.Background(), &label, policy)

	base := true // what the server's own authorization said, without looking at the label
	fmt.Println("allowed:", policydecl.Restrict(base, decision))
	fmt.Println("rejected:", decision.Violation().Rejected)
	// Output:
	// allowed: false
	// rejected: [{unverified https://fetch.example/mcp}]
}

// Mistakes come all at once, each with the path that leads to it.
func ExampleCompile_mistakes() {
	_, err := policydecl.Compile(policydecl.Config{
		URI:     "https://records.example/mcp",
		Default: policydecl.AcceptFrom("self", "https://*"),
		Targets: []policydecl.Declaration{
			{Kind: policydecl.Tool, Name: "export", Policy: policydecl.AcceptFrom("User", "user")},
		},
	})
	for mistake := range flowerrors.All(err) {
		fmt.Printf("%s: %q: %s\n", mistake.Path, mistake.Value, mistake.Reason)
	}
	// Output:
	// default.acceptFrom[1]: "https://*": never-matches
	// tools["export"].acceptFrom[0]: "User": unknown-token
}

// Absent and empty are two policies: one means the default, the other accepts nothing.
func ExamplePolicy() {
	var absent policydecl.Policy
	for _, p := range []policydecl.Policy{absent, policydecl.AcceptFrom(), policydecl.AcceptFrom("user")} {
		published, err := json.Marshal(p)
		fmt.Println(p.IsZero(), string(published), err)
	}
	// Output:
	// true null <nil>
	// false {"acceptFrom":[]} <nil>
	// false {"acceptFrom":["user"]} <nil>
}

// A host reads somebody else's policy tolerantly and keeps the faults for its record.
func ExampleReadPublished() {
	declaration := map[string]any{"acceptFrom": []any{"user", "Everyone"}}
	policy, faults := policydecl.ReadPublished(declaration, policydecl.Policy{})
	fmt.Println(policy.Tokens())
	for fault := range flowerrors.All(faults) {
		fmt.Println(fault.Path, fault.Reason)
	}
	// Output:
	// [user Everyone]
	// acceptFrom[1] unknown-token
}

// A vendor token matches only where its prefix has a matcher.
func ExampleMatcher() {
	gold := map[string]bool{"https://partner.example/mcp": true}
	set, err := policydecl.Compile(policydecl.Config{
		URI:     "https://records.example/mcp",
		Default: policydecl.AcceptFrom("user", "com.example.tier:gold"),
		Matchers: map[string]policydecl.Matcher{
			"com.example.tier": func(_ context.Context, token string, c policydecl.Contributor) (bool, error) {
				return token == "com.example.tier:gold" && gold[c.CanonicalPrincipal()], nil
			},
		},
	})
	if err != nil {
		panic(err)
	}
	for _, principal := range []string{"https://Partner.example/mcp", "https://other.example/mcp"} {
		label := policydecl.BuildLabel(true, policydecl.NewContributor(principal, policydecl.Verified, ""))
		decision := set.Decide(context.Background(), &label, set.Default())
		fmt.Println(principal, decision.Accepted())
	}
	// Output:
	// https://Partner.example/mcp true
	// https://other.example/mcp false
}

// What a host sends. A host that cannot enumerate its contributors says so.
func ExampleBuildLabel() {
	label := policydecl.BuildLabel(false,
		policydecl.NewContributor(policydecl.PrincipalUser, policydecl.User, ""),
		policydecl.NewContributor("https://partner.example/mcp", policydecl.Verified, ""),
	)
	fmt.Println(string(label.AppendJSON(nil)))
	for _, c := range label.Contributors() {
		fmt.Println(c)
	}
	// Output:
	// {"contributors":[{"principal":"urn:mcp:user","assurance":"user"},{"principal":"https://partner.example/mcp","assurance":"verified"}],"complete":false}
	// user urn:mcp:user
	// verified https://partner.example/mcp
	// unverified
}

// Every mistake of a declaration at once, as an author sees them.
func ExampleValidateDeclaration() {
	declaration := `{
		"name": "export_records",
		"inputSchema": {"type": "object", "properties": {"table": {"$ref": "https://schemas.example/table.json"}}},
		"flowPolicy": {"acceptFrom": ["self", "User"]}
	}`
	for _, fault := range policydecl.ValidateDeclaration(policydecl.Tool, []byte(declaration)) {
		fmt.Println(fault.Rule, fault.Pointer, fault.Reason, "->", fault.Hint)
	}
	// Output:
	// P1 /flowPolicy/acceptFrom/1 unknown-token -> write "user"
	// JSON Schema 2020-12 /inputSchema/properties/table/$ref unsupported -> copy what it refers to into $defs
}

// Why a label is refused, contributor by contributor.
func ExampleSet_Explain() {
	set, err := policydecl.Compile(policydecl.Config{URI: "https://records.example/mcp"})
	if err != nil {
		panic(err)
	}
	label := policydecl.BuildLabel(true,
		policydecl.NewContributor(policydecl.PrincipalUser, policydecl.User, ""),
		policydecl.NewContributor("https://fetch.example/mcp", policydecl.Unverified, ""))
	for _, e := range set.Explain(context.Background(), &label, policydecl.AcceptFrom("self", "user")) {
		fmt.Printf("%s: %q\n", e.Contributor.Principal(), e.Matched())
		for _, tried := range e.Tried {
			fmt.Printf("  %-5s %s\n", tried.Token, tried.Why)
		}
	}
	// Output:
	// urn:mcp:user: "user"
	//   self  the principal is "urn:mcp:user", not "https://records.example/mcp"
	//   user  the assurance is user
	// https://fetch.example/mcp: ""
	//   self  the principal is "https://fetch.example/mcp", not "https://records.example/mcp"
	//   user  the assurance is unverified
}
