package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestHelp(t *testing.T) {
	for _, command := range []string{"validate", "explain", "probe", "conformance", "report"} {
		r := flowgate(t, command, "-h")
		r.wants(t, 0)
		r.golden(t, "help-"+command)
		if r.err != "" {
			t.Errorf("on standard error: %s", r.err)
		}
		if other := flowgate(t, "help", command); other.out != r.out || other.status != 0 {
			t.Errorf("help %s: status %d\n%s", command, other.status, other.out)
		}
	}
	for _, args := range [][]string{{"help"}, {"-h"}, {"--help"}} {
		if r := flowgate(t, args...); r.status != 0 || r.out != usage {
			t.Errorf("%q: %+v", args, r)
		}
	}
	for _, text := range []string{"go run turns every failure into status 1", "go install github.com/flowgate-mcp/flowgate/cmd/flowgate@latest\n"} {
		if !strings.Contains(usage, text) {
			t.Errorf("no %q in the usage", text)
		}
	}
}

func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "-version", "--version"} {
		flowgate(t, arg).wants(t, 0, "flowgate "+version()+" (", runtime.Version())
	}
	info := &debug.BuildInfo{GoVersion: "go1", Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}, {Key: "GOOS", Value: "x"}}}
	if got := described(info); got != " (revision abc, modified, go1)" || described(nil) != "" {
		t.Errorf("%q", got)
	}
}

func TestMisuse(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"", "Usage: flowgate COMMAND"},
		{"nonsense", `there is no command "nonsense"`},
		{"validate", "nothing to validate"},
		{"validate -nope", "flag provided but not defined: -nope"},
		{"validate a b", `unexpected argument "b"`},
		{"validate /nonexistent/file", "cannot read /nonexistent/file: no such file or directory"},
		{"validate .", "is a directory"},
		{"validate https://x.example/mcp", "for a server write -url before it"},
		{"validate -kind tools -", `-kind: "tools" is none of tool, resource`},
		{"validate -kind tool -url http://x", "-kind is for a file"},
		{"validate -url http://x y", `unexpected argument "y"`},
		{"validate -url http://x -stdio y", "exclude each other"},
		{"validate -stdio", "-stdio needs a command"},
		{"validate -stdio -header a:b y", "on stdio there are no headers"},
		{"validate -header a:b y", "-header needs -url"},
		{"validate -url http://x -header secret", "must be 'Name: value'"},
		{"validate -url http://x -timeout 0s", "-timeout must be more than 0"},
		{"validate -url http://x -timeout 300000h", "-timeout must be at most 256204h"},
		{"validate -url http://x -era 2024-11-05", "must be 2025-11-25 or 2026-07-28"},
		{"validate -url x", "-url: this does not lead to an HTTP server"},
		{"validate -stdio /nonexistent/server", "cannot start the command: fork/exec /nonexistent/server: no such file or directory"},
		{"explain", "-policy is missing"},
		{"explain -policy user,", `token 2 of "user," is empty; leave out the comma`},
		{"explain -policy ,user", `token 1 of ",user" is empty`},
		{"explain -policy [user,]", `token 2 of "[user,]" is empty`},
		{`explain -policy {"tools":[]}`, "-policy: this is a list; give one declaration of it"},
		{`explain -policy {"jsonrpc":"2.0","id":1,"method":"x"}`, "-policy: cannot tell what this is"},
		{"help nonsense", `there is no command "nonsense"; use validate, explain, probe, conformance, report, help or version`},
		{"explain -policy self -self nowhere", `"nowhere"`},
		{"explain -policy user x", `unexpected argument "x"`},
		{"explain -policy @/nonexistent/p", "cannot read /nonexistent/p"},
		{"explain -policy user -label @/nonexistent/l", "cannot read /nonexistent/l"},
		{"probe -tool t", "no server; name one with -url or -stdio"},
		{"probe -url http://x", "-tool is missing"},
		{`probe -tool t -run {"a":1} -url http://x`, `unexpected argument "{\"a\":1}"; flags come before it; arguments of the tool go into -args`},
		{"conformance -run t={} x -url http://x", `unexpected argument "x"; flags come before it; the arguments of a tool go into -run TOOL=ARGS`},
		{"probe -url http://x -tool t -args []", "must be a JSON object"},
		{"probe -url http://x -tool t -args {", "must be a JSON object"},
		{"probe -url http://x -tool t y", `unexpected argument "y"`},
		{"conformance", "no server; name one with -url or -stdio"},
		{"conformance -url http://x y", `unexpected argument "y"`},
		{"conformance -url http://x -run t", "must be the name of a tool and a JSON object"},
		{"conformance -url http://x -run t=[]", "must be the name of a tool and a JSON object"},
		{"conformance -url http://x -run ={}", "must be the name of a tool and a JSON object"},
		{"conformance -url http://x -timeout 300000h", "-timeout must be at most"},
		{"conformance -url http://127.0.0.1:1/ -self nowhere", `"nowhere"`},
	} {
		flowgate(t, strings.Fields(tt.args)...).wants(t, 2, tt.want)
	}
	if r := flowgate(t, "validate", "-url", "http://x", "-header", "secret"); strings.Contains(r.err, "secret") {
		t.Errorf("a header may be a secret: %s", r.err)
	}
}

func TestInterrupted(t *testing.T) {
	t.Setenv(modeVariable, "silent")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	flowgateWith(ctx, t, "", "validate", "-stdio", "--", self(t)).wants(t, 2, "flowgate validate: interrupted")

	ctx, cancel = context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}))
	defer s.Close()
	flowgateWith(ctx, t, "", "validate", "-url", s.URL).wants(t, 2, "flowgate validate: interrupted")

	// Not even a reader that never returns holds it up.
	var err bytes.Buffer
	in, out := io.Pipe()
	defer out.Close()
	a := &app{stdin: in, stdout: io.Discard, stderr: &err}
	if status := a.run(ctx, []string{"validate", "-"}); status != 2 || !strings.Contains(err.String(), "interrupted") {
		t.Errorf("status %d, %s", status, &err)
	}
}

// A server that answers each request in time may still keep a run from ending.
func TestRunsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := &target{timeout: time.Second}
		ctx, cancel := at.bound(t.Context())
		defer cancel()
		start := time.Now()
		<-ctx.Done()
		err := at.overdue(ctx, ctx.Err())
		if time.Since(start) != 10*time.Second || !errors.Is(err, errOverdue) || !strings.Contains(err.Error(), "more than 10s") {
			t.Errorf("%s, %v", time.Since(start), err)
		}
		if at.overdue(ctx, nil) != nil || at.overdue(t.Context(), io.EOF) != io.EOF {
			t.Error("other errors are left alone")
		}
	})
}

func TestColour(t *testing.T) {
	a := &app{colour: true}
	if got := a.paint(red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("%q", got)
	}
	if a.colour = false; a.paint(red, "x") != "x" {
		t.Error("colour without a terminal")
	}
	var b strings.Builder
	if colourful(&b) {
		t.Error("a buffer is no terminal")
	}
}

func TestASCIIJSON(t *testing.T) {
	if got := asciiJSON("{\n\"a\u202eé\U0001F600\x7f\"}"); got != "{\n\"a\\u202e\\u00e9\\ud83d\\ude00\\u007f\"}" {
		t.Error(got)
	}
}
