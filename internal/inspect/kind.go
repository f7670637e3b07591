package inspect

import "github.com/flowgate-mcp/flowgate/policydecl"

// kind says how declarations of one kind are listed.
type kind struct {
	target     policydecl.TargetKind
	noun       string // for people and machines
	capability string // what the server announces if it has any
	method     string
	list       string // the member of the answer that holds them
	name       string // the member that identifies one
}

// kinds are the kinds of declaration, in the order in which they are asked for.
var kinds = []kind{
	{policydecl.Tool, "tool", "tools", "tools/list", "tools", "name"},
	{policydecl.Resource, "resource", "resources", "resources/list", "resources", "uri"},
	{policydecl.Template, "template", "resources", "resources/templates/list", "resourceTemplates", "uriTemplate"},
	{policydecl.Prompt, "prompt", "prompts", "prompts/list", "prompts", "name"},
}

// Noun returns the word for one declaration of a kind: tool, resource, template or
// prompt. It is empty for what cannot be listed.
func Noun(target policydecl.TargetKind) string { return of(target).noun }

// KindOf is the reverse of [Noun].
func KindOf(noun string) (policydecl.TargetKind, bool) {
	for _, k := range kinds {
		if k.noun == noun {
			return k.target, true
		}
	}
	return 0, false
}

// ListMember returns the member that holds the declarations of a kind in the answer
// that lists them.
func ListMember(target policydecl.TargetKind) string { return of(target).list }

func of(target policydecl.TargetKind) kind {
	for _, k := range kinds {
		if k.target == target {
			return k
		}
	}
	return kind{}
}
