package main

import (
	"testing"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/middleware/middlewaretest"
)

// What the server publishes is without mistakes.
func TestDeclarations(t *testing.T) {
	gate, err := middleware.New(newServer(&webfetch{calls: serve.NewInvocations()}), middleware.Config{URI: defaultURI})
	if err != nil {
		t.Fatal(err)
	}
	middlewaretest.ValidateDeclarations(t.Context(), t, gate)
}
