//go:build !race

package overrides_test

import "github.com/flowgate-mcp/flowgate/overrides"

// hostileBytes is how large hostile texts are.
const hostileBytes = overrides.MaxBytes
