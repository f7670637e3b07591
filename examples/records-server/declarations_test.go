package main

import (
	"testing"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/middleware/middlewaretest"
)

// What the server publishes is without mistakes, also what only an admin sees.
func TestDeclarations(t *testing.T) {
	data, err := openStore(embedded)
	if err != nil {
		t.Fatal(err)
	}
	gate, err := middleware.New(newServer(&records{data: data, calls: serve.NewInvocations()}), middleware.Config{URI: defaultURI})
	if err != nil {
		t.Fatal(err)
	}
	middlewaretest.ValidateDeclarations(withRole(t.Context(), admin), t, gate)
}
