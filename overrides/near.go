package overrides

import (
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/near"
)

// nearest says which of the known members an unknown one was meant to be, or which there
// are if it is like none.
func nearest(name string, known []string) string {
	if best := near.Name(name, known); best != "" {
		return `write "` + best + `"`
	}
	return "use " + strings.Join(known, ", ")
}
