package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestFirstLook runs the README's first command: a real server accepts one call
// and refuses the next.
func TestFirstLook(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	var out bytes.Buffer
	if err := run(ctx, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		`"result":{"content":[{"type":"text","text":"`,
		`"error":{"code":403,"message":"Request rejected by flow policy","data":{"io.modelcontextprotocol/flowPolicyViolation":` +
			`{"rejected":[{"assurance":"unverified","principal":"https://mcp.webfetch.example/mcp"}],"acceptFrom":["self","user"]}}}`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %s:\n%s", want, out.String())
		}
	}
}
