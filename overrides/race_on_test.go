//go:build race

package overrides_test

import "github.com/flowgate-mcp/flowgate/overrides"

// hostileBytes is how large hostile texts are: smaller, for under the race detector
// everything takes its time.
const hostileBytes = overrides.MaxBytes / 32
