package middleware_test

import (
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// R4: a URI that is too long is refused by a gate that knows no policy but the default, too.
func TestLongURIWithoutDeclarations(t *testing.T) {
	f := &bxFix{}
	f.srv = server.NewMCPServer("notes", "1", server.WithResourceCapabilities(true, true), server.WithCompletions(), server.WithResourceCompletionProvider(f))
	const head = "notes://export?data="
	f.srv.AddResourceTemplate(mcp.NewResourceTemplate("notes://export{?data}", "note"), server.ResourceTemplateHandlerFunc(f.resource("export")))
	g, err := middleware.New(f.srv, bxConfig())
	if err != nil {
		t.Fatal(err)
	}
	f.gate = g
	h := f.handler(t)
	for length, want := range map[int]string{resourcematch.MaxURI: `"result"`, resourcematch.MaxURI + 1: "over-limit: the URI is too long"} {
		uri := head + strings.Repeat("x", length-len(head))
		for method, params := range map[string]string{
			"resources/read": `"uri":"` + uri + `"`, "resources/subscribe": `"uri":"` + uri + `"`,
			"completion/complete": `"ref":{"type":"ref/resource","uri":"` + uri + `"},"argument":{"name":"data","value":""}`,
		} {
			if method == "resources/subscribe" && length == resourcematch.MaxURI {
				continue // which needs a session, and passes without one
			}
			if got := bxPost(h, bxMsg("1", method, params, bxU, false)); !strings.Contains(got.body, want) {
				t.Errorf("%s of %d bytes: %.200s", method, length, got.body)
			}
		}
	}
	if runs := f.took(); len(runs) != 2 { // the read and the completion of the longest
		t.Errorf("%d ran", len(runs))
	}
}
