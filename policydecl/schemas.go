package policydecl

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"path"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed schema/*.schema.json
var schemaFiles embed.FS

// Schemas returns the JSON Schemas (2020-12) of what this package reads, as files that
// refer to each other by name and to nothing else but the 2020-12 meta-schema:
//
//   - flow-policy.schema.json: a flow policy, and the tokens and URIs in it
//   - flow-origin.schema.json: an origin label
//   - flow-policy-violation.schema.json: the payload of a refusal
//   - tool.schema.json, resource.schema.json, resource-template.schema.json,
//     prompt.schema.json: whole declarations; declaration.schema.json is what they share
//
// They accept what the Validate functions find no fault with, except for what a schema
// cannot express; each file says in its $comment what that is. The Validate functions
// are the authority, and say better what is wrong.
func Schemas() fs.FS {
	sub, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		return schemaFiles // the folder is embedded, so this cannot be
	}
	return sub
}

// schemaBase is where the schemas seem to come from. Nothing can be fetched from there.
const schemaBase = "https://flowgate.invalid/schema/"

// noLoader is the loader of every compiler: a schema cannot make anybody open a file
// or a connection. The meta-schemas of JSON Schema are part of the compiler.
type noLoader struct{}

var errRemote = errors.New("schemas are not fetched")

func (noLoader) Load(string) (any, error) { return nil, errRemote }

// newCompiler returns a compiler for 2020-12 that opens nothing.
func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	return c
}

// declarationSchemas returns the compiled schemas of declarations, by kind. They are
// compiled when they are first needed: a server that registers nothing with a helper,
// and a host, never need them.
var declarationSchemas = sync.OnceValues(func() (map[TargetKind]*jsonschema.Schema, error) {
	c := newCompiler()
	names, err := fs.Glob(schemaFiles, "schema/*.schema.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := schemaFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		if err := c.AddResource(schemaBase+path.Base(name), doc); err != nil {
			return nil, err
		}
	}
	schemas := make(map[TargetKind]*jsonschema.Schema)
	for kind, name := range map[TargetKind]string{Tool: "tool", Resource: "resource", Template: "resource-template", Prompt: "prompt"} {
		if schemas[kind], err = c.Compile(schemaBase + name + ".schema.json"); err != nil {
			return nil, err
		}
	}
	return schemas, nil
})
