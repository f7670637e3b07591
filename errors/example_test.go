package flowerrors_test

import (
	"errors"
	"fmt"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

func ExampleAll() {
	err := errors.Join(
		&flowerrors.ConfigError{Path: "uri", Reason: flowerrors.ReasonMissing, Detail: "the server needs its own URI"},
		&flowerrors.ConfigError{
			Path: `tools["export"].acceptFrom[1]`, Value: "User", Reason: flowerrors.ReasonUnknownToken,
			Detail: "no such token", Hint: `write "user"`,
		},
	)
	for e := range flowerrors.All(err) {
		fmt.Println(e.Reason, "at", e.Path)
	}
	fmt.Println(err)
	// Output:
	// missing at uri
	// unknown-token at tools["export"].acceptFrom[1]
	// uri: missing: the server needs its own URI
	// tools["export"].acceptFrom[1]: unknown-token: "User": no such token; write "user"
}

func ExampleViolation_AppendError() {
	v := &flowerrors.Violation{
		Rejected:   []flowerrors.Rejected{{Assurance: "unverified", Principal: "https://fetch.example/mcp"}},
		AcceptFrom: []string{"self", "user"},
	}
	fmt.Printf("%s\n", v.AppendError(nil, 0, flowerrors.DetailFull))
	fmt.Printf("%s\n", v.AppendError(nil, 0, flowerrors.DetailKeyOnly))
	// Output:
	// {"code":403,"message":"Request rejected by flow policy","data":{"io.modelcontextprotocol/flowPolicyViolation":{"rejected":[{"assurance":"unverified","principal":"https://fetch.example/mcp"}],"acceptFrom":["self","user"]}}}
	// {"code":403,"message":"Request rejected by flow policy","data":{"io.modelcontextprotocol/flowPolicyViolation":{"rejected":[],"acceptFrom":[]}}}
}

// A host recognises a refusal by its key, whatever the code says, and shows the
// model the one constant sentence (H7).
func ExampleReadViolation() {
	answer := []byte(`{"code":-32000,"message":"refused","data":{"io.modelcontextprotocol/flowPolicyViolation":` +
		`{"rejected":[{"assurance":"tofu"}],"acceptFrom":["user"]}}}`)
	v, found, err := flowerrors.ReadViolation(answer)
	fmt.Println(found, err)
	fmt.Println("for the record:", v.Rejected, v.AcceptFrom)
	fmt.Println("for the model:", flowerrors.ModelText)
	// Output:
	// true <nil>
	// for the record: [{tofu }] [user]
	// for the model: The call was not permitted.
}
