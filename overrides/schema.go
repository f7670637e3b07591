package overrides

import (
	_ "embed" // for the schema
	"slices"
)

//go:embed overrides.schema.json
var schema []byte

// Schema returns the JSON Schema (2020-12) of the format, for editors and other languages:
// overrides.schema.json, which refers to nothing but the 2020-12 meta-schema. It accepts
// what [Parse] accepts and more: its $comment says what a schema cannot express. The
// caller owns the result.
func Schema() []byte { return slices.Clone(schema) }
