package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
	st "github.com/flowgate-mcp/flowgate/examples/internal/servetest"
)

// eachTransport runs f against a server over HTTP and one over stdio, in both
// protocol eras. The servers store into dir.
func eachTransport(t *testing.T, f func(t *testing.T, c st.Client, era st.Era, dir string), args ...string) {
	for _, era := range st.Eras {
		t.Run("http/"+string(era), func(t *testing.T) {
			dir := t.TempDir()
			f(t, st.Start(t, run, nil, append(args, "-dir", dir)...), era, dir)
		})
		t.Run("stdio/"+string(era), func(t *testing.T) {
			dir := t.TempDir()
			f(t, st.StartStdio(t, run, nil, append(args, "-dir", dir)...), era, dir)
		})
	}
}

func TestCalls(t *testing.T) {
	s, _ := site(t, func(w http.ResponseWriter, _ *http.Request) { text(w, "hello") })
	private, hits := site(t, func(w http.ResponseWriter, _ *http.Request) { text(w, "secret") })
	eachTransport(t, func(t *testing.T, c st.Client, era st.Era, dir string) {
		var fetched, refused, stored st.ToolResult
		st.CallTool(t, c, era, "fetch_page", st.Params{"url": s.URL}, st.User).MustResult(t, &fetched)
		if fetched.IsError || fetched.Text() != "hello" || len(fetched.Content) != 2 {
			t.Errorf("fetch_page: %+v", fetched)
		}
		st.CallTool(t, c, era, "fetch_page", st.Params{"url": private.URL}, st.User).MustResult(t, &refused)
		if !refused.IsError || refused.Text() != errNotPublic.Error() {
			t.Errorf("fetch_page of a private address: %+v", refused)
		}
		st.CallTool(t, c, era, "upload_blob", st.Params{"content": "kept"}, st.User).MustResult(t, &stored)
		if got := readStored(t, dir, stored.Text()); got != "kept" {
			t.Errorf("stored %q", got)
		}
		var note struct{ Contents []struct{ Text string } }
		c.Call(t, era, "resources/read", st.Params{"uri": "notes://export?data=buy%20milk"}, st.User).MustResult(t, &note)
		if got := readStored(t, dir, note.Contents[0].Text); got != "buy milk" {
			t.Errorf("note %q", got)
		}
		c.Call(t, era, "resources/read", st.Params{"uri": "notes://export"}, st.User).MustFail(t)
	}, "-allow-host", strings.TrimPrefix(s.URL, "http://"))
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests to a private address", n)
	}
}

func readStored(t *testing.T, dir, answer string) string {
	t.Helper()
	name, ok := strings.CutPrefix(answer, "stored ")
	if !ok {
		t.Fatalf("answer %q", answer)
	}
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestLists(t *testing.T) {
	eachTransport(t, func(t *testing.T, c st.Client, era st.Era, _ string) {
		for method, want := range map[string][]string{
			"tools/list":               {"fetch_page", "upload_blob"},
			"resources/templates/list": {notePattern},
		} {
			got := string(c.Call(t, era, method, nil, st.None).Result)
			for _, name := range want {
				if !strings.Contains(got, `"`+name+`"`) {
					t.Errorf("%s lacks %s: %s", method, name, got)
				}
			}
		}
	})
}

func TestOtherRoutes(t *testing.T) {
	s := st.Start(t, run, nil, "-debug")
	if status, body := s.Get(t, "/healthz"); status != http.StatusOK || body != "ok\n" {
		t.Errorf("healthz: %d %q", status, body)
	}
	var stored st.ToolResult
	st.CallTool(t, s, st.Modern, "upload_blob", st.Params{"content": "x"}, st.User).MustResult(t, &stored)
	n := s.Invocations(t)
	if n["upload_blob"] != 1 || n["fetch_page"] != 0 || n[notePattern] != 0 || len(n) != 3 {
		t.Errorf("invocations %v", n)
	}
}

func TestTemporaryDirectoryIsRemoved(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	s := st.Start(t, run, nil)
	entries, err := os.ReadDir(tmp)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	s.Stop(t)
	if entries, err := os.ReadDir(tmp); err != nil || len(entries) != 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

func TestWarnsWhenOpenToTheNetwork(t *testing.T) {
	for addr, warns := range map[string]bool{":0": true, "127.0.0.1:0": false} {
		s := st.Start(t, run, nil, "-addr", addr)
		if warned := strings.Contains(s.Stderr(), "WRN "+openWarning); warned != warns {
			t.Errorf("%s: %s", addr, s.Stderr())
		}
	}
}

func TestStartUpErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"host":              {"-allow-host", "http://a.example"},
		"mode":              {"-mode", "audit"},
		"address, on stdio": {"-addr", defaultAddr, "-stdio"},
	} {
		if err := run(st.Context(t), st.Env(nil, args...)); !errors.Is(err, serve.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := run(st.Context(t), st.Env(nil, "-dir", file)); err == nil {
		t.Error("a file was taken as a directory")
	}
}
