package overrides_test

import (
	"fmt"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/overrides"
)

// A platform team narrows one tool and leaves the rest to the server's author.
func ExampleParse() {
	o, err := overrides.Parse("overrides.yaml", []byte(`
flowgate: 1
uri: https://records.example/mcp
tools:
  export_records: {acceptFrom: [user]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.URI, o.Targets[0].Name, o.Targets[0].Policy.Tokens())
	text, err := o.AppendJSON(nil)
	fmt.Println(string(text), err)
	// Output:
	// https://records.example/mcp export_records [user]
	// {"flowgate":1,"uri":"https://records.example/mcp","tools":{"export_records":{"acceptFrom":["user"]}}} <nil>
}

// Every mistake is told at once, with its place and the way out.
func ExampleParse_mistakes() {
	_, err := overrides.Parse("overrides.yaml", []byte(`
flowgate: 1
mod: enforce
tools:
  export_records: {acceptFrom: [User]}
`))
	for mistake := range flowerrors.All(err) {
		fmt.Println(mistake.Path, mistake.Reason, mistake.Hint)
	}
	// Output:
	// mod unknown-member write "mode"
	// tools["export_records"].acceptFrom[0] unknown-token write "user"
}
