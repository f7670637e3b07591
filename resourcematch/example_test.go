package resourcematch_test

import (
	"fmt"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

func ExampleCanonical() {
	for _, uri := range []string{"HTTPS://Records.Example:443", "URN:MCP:user", "https://user@records.example/"} {
		canonical, err := resourcematch.Canonical(uri)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(canonical)
	}
	// Output:
	// https://records.example/
	// urn:mcp:user
	// unusable-uri: "https://***@records.example/": the URI holds user information; write an absolute URI such as https://host.example/mcp, or a urn
}

// The prefix governs what is inside it under every reading of the URI.
func ExampleMatcher_Match() {
	m, err := resourcematch.Compile([]resourcematch.Entry{
		{Kind: resourcematch.Template, Pattern: "file:///{+path}"},
		{Kind: resourcematch.Prefix, Pattern: "file:///secret/"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, uri := range []string{
		"file:///public/a", "file:///secret/a", "file:///public/%2e%2e/secret/a", "file:///public/..;/secret/a", "records://a",
	} {
		matches, bare, err := m.Match(nil, uri)
		fmt.Println(uri, matches, bare, err)
	}
	// Output:
	// file:///public/a [0] false <nil>
	// file:///secret/a [0 1] false <nil>
	// file:///public/%2e%2e/secret/a [0 1] false <nil>
	// file:///public/..;/secret/a [0 1] false <nil>
	// records://a [] true <nil>
}

func ExampleCompile() {
	_, err := resourcematch.Compile([]resourcematch.Entry{
		{Kind: resourcematch.Exact, Pattern: "notes://item/{id}"},
		{Kind: resourcematch.Prefix, Pattern: "file:///secret"},
	})
	for e := range flowerrors.All(err) {
		fmt.Println(e.Path, e.Reason, e.Hint)
	}
	// Output:
	// [0] never-matches declare it as a template, or write %7B and %7D
	// [1] never-matches end it in "/"
}
