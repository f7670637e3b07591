//go:build unix

package main

import (
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flowgate-mcp/flowgate/decision"
	st "github.com/flowgate-mcp/flowgate/examples/internal/servetest"
)

// readRecords returns the decision records in a file.
func readRecords(t *testing.T, path string) []decision.Record {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []decision.Record
	for in := decision.NewReader(f); ; {
		r, err := in.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
}

// M1, M2: in mode report the call runs, and the file of records says what enforce would
// have done; in mode off nothing is judged; both warn.
func TestModesAndRecords(t *testing.T) {
	for mode, want := range map[string]struct {
		warning string
		verdict decision.Verdict
		runs    bool
	}{
		"enforce": {"", decision.Refused, false},
		"report":  {"mode=report", decision.Refused, true},
		"off":     {"mode=off", decision.Unjudged, true},
	} {
		path := filepath.Join(t.TempDir(), "records.jsonl")
		s := st.Start(t, run, nil, "-mode", mode, "-records", path)
		reply := st.CallTool(t, s, st.Legacy, "export_records", st.Params{"table": "orders"}, st.Stranger)
		if want.runs {
			reply.MustResult(t, &st.ToolResult{})
		} else {
			reply.MustBeRefused(t, "self", "user")
		}
		s.Stop(t)
		if (want.warning != "") != strings.Contains(s.Stderr(), "WRN the flow gate does not enforce everything") || !strings.Contains(s.Stderr(), want.warning) {
			t.Errorf("%s: %s", mode, s.Stderr())
		}
		all := readRecords(t, path)
		if len(all) != 1 || all[0].Verdict != want.verdict || all[0].Mode.String() != mode || all[0].Target != "export_records" {
			t.Errorf("%s: %v", mode, all)
		}
	}
}

// A file of overrides tightens the server, and is followed while it serves; one that
// loosens, or has a mistake, stops the start with every fault, and changes nothing later.
func TestOverrides(t *testing.T) {
	path := filepath.Join(t.TempDir(), "overrides.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte("flowgate: 1\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write("tools: {search_records: {acceptFrom: [user]}}")
	s := st.Start(t, run, nil, "-overrides", path)
	search := func() *st.Reply {
		return st.CallTool(t, s, st.Legacy, "search_records", st.Params{"query": "ada"}, host)
	}
	search().MustBeRefused(t, "user")

	// The server may not listen for the signal yet; then it finds the change by itself.
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	defer signal.Stop(hangUp)
	reload := func(log string) {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		s.WaitStderr(t, log)
	}
	write("tools: {search_records: {acceptFrom: [host, tofu]}, exprot: {acceptFrom: []}}")
	reload("exprot")
	if log := s.Stderr(); !strings.Contains(log, "tofu") {
		t.Errorf("one fault of two: %s", log)
	}
	search().MustBeRefused(t, "user")

	write("tools: {search_records: {acceptFrom: [host]}}")
	reload("flow overrides have changed")
	search().MustResult(t, &st.ToolResult{})
	s.Stop(t)

	write("mode: report\nsecret: 1")
	err := run(st.Context(t), st.Env(nil, "-addr", "127.0.0.1:0", "-overrides", path))
	if err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("a broken file: %v", err)
	}
	write("mode: report\ntools: {export_records: {acceptFrom: [tofu]}}")
	err = run(st.Context(t), st.Env(nil, "-addr", "127.0.0.1:0", "-overrides", path))
	if err == nil || !strings.Contains(err.Error(), "overrides.mode") || !strings.Contains(err.Error(), "tofu") {
		t.Errorf("a file that loosens: %v", err)
	}
}
