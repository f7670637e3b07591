package middleware

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// listMethods are the methods that list the kinds of declaration.
var listMethods = map[policydecl.TargetKind]mcp.MCPMethod{
	policydecl.Tool:     mcp.MethodToolsList,
	policydecl.Prompt:   mcp.MethodPromptsList,
	policydecl.Resource: mcp.MethodResourcesList,
	policydecl.Template: mcp.MethodResourcesTemplatesList,
}

// checkDeclaration reports every mistake in a declaration (P6), which is judged in the
// form that lists will show (D1, D4). Of one that is governed by a policy, what
// [checkPolicy] has reported is left out: the name, by which requests find the policy.
func checkDeclaration(kind policydecl.TargetKind, name string, declaration any, governed bool) error {
	raw, err := publishedForm(kind, declaration)
	if err != nil {
		return &flowerrors.ConfigError{
			Path: targetPath(kind, name), Reason: flowerrors.ReasonType,
			Detail: "it cannot be listed: " + rootOf(err).Error(), Hint: "correct the declaration",
		}
	}
	var errs []error
	for _, fault := range policydecl.ValidateDeclaration(kind, raw) {
		switch {
		case strings.HasPrefix(fault.Pointer+"/", mirrorPointer): // the same object as flowPolicy
		case governed && fault.Pointer == namePointer(kind):
		default:
			errs = append(errs, flowerrors.Under(targetPath(kind, name), fault.ConfigError))
		}
	}
	return errors.Join(errs...)
}

// rootOf returns what is at the bottom of an error, below what encoding/json says of
// the types in between.
func rootOf(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// namePointer is where a declaration says what requests call it.
func namePointer(kind policydecl.TargetKind) string {
	switch kind {
	case policydecl.Resource:
		return "/uri"
	case policydecl.Template:
		return "/uriTemplate"
	}
	return "/name"
}

// mirrorPointer is where a declaration shows its policy a second time.
var mirrorPointer = "/_meta/" + strings.ReplaceAll(policydecl.PolicyKey, "/", "~1") + "/"

// publishedForm returns the text of a declaration as a list shows it.
func publishedForm(kind policydecl.TargetKind, declaration any) ([]byte, error) {
	raw, err := json.Marshal(declaration)
	if err != nil {
		return nil, err
	}
	list := listOf(listMethods[kind])
	head, tail := []byte(`{"`+list+`":[`), []byte(`]}`)
	page := wire.SpliceDeclarations(bytes.Join([][]byte{head, raw, tail}, nil), policydecl.PolicyKey, policydecl.PolicyMember, list)
	return page[len(head) : len(page)-len(tail)], nil
}
