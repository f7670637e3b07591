package inspect_test

import (
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The faults of a part stay the caller's.
func TestUnder(t *testing.T) {
	part := []policydecl.Fault{{Pointer: "/a"}, {Pointer: ""}}
	whole := inspect.Under("/b~1c", part)
	if part[0].Pointer != "/a" || part[1].Pointer != "" || whole[0].Pointer != "/b~1c/a" || whole[1].Pointer != "/b~1c" {
		t.Errorf("%v %v", part, whole)
	}
}
