package main

import (
	"net/http"
	"os"
	"strings"
	"testing"

	st "github.com/flowgate-mcp/flowgate/examples/internal/servetest"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Everything is under the default policy: a refused request fetches nothing
// and stores nothing.
func TestEverythingIsGated(t *testing.T) {
	s, hits := site(t, func(w http.ResponseWriter, _ *http.Request) { text(w, "hello") })
	eachTransport(t, func(t *testing.T, c st.Client, era st.Era, dir string) {
		targets := []struct {
			method string
			params st.Params
		}{
			{"tools/call", st.Params{"name": "fetch_page", "arguments": st.Params{"url": s.URL}}},
			{"tools/call", st.Params{"name": "upload_blob", "arguments": st.Params{"content": "leak"}}},
			{"resources/read", st.Params{"uri": "notes://export?data=leak"}},
		}
		before := hits.Load()
		for _, target := range targets {
			for _, label := range []st.Label{st.Stranger, st.None, "[]", `{"contributors":[],"complete":true}`} {
				c.Call(t, era, target.method, target.params, label).MustBeRefused(t, policydecl.Default().Tokens()...)
			}
		}
		if n := hits.Load() - before; n != 0 {
			t.Errorf("%d pages fetched", n)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("stored %v, %v", entries, err)
		}
		for _, target := range targets {
			for _, label := range []st.Label{st.User, st.Partner} {
				var result struct{ IsError bool }
				c.Call(t, era, target.method, target.params, label).MustResult(t, &result)
				if result.IsError {
					t.Errorf("%v failed", target.params)
				}
			}
		}
	}, "-allow-host", strings.TrimPrefix(s.URL, "http://"))
}
