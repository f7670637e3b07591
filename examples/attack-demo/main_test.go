package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
	"github.com/flowgate-mcp/flowgate/host"
)

var update = flag.Bool("update", false, "write the golden files")

// environment returns that of a run with these arguments, and what it prints.
func environment(args ...string) (env serve.Env, out *bytes.Buffer) {
	out = new(bytes.Buffer)
	return serve.Env{
		Args: args, LookupEnv: func(string) (string, bool) { return "", false },
		Stdin: strings.NewReader(""), Stdout: out, Stderr: io.Discard,
	}, out
}

// golden compares with a file in testdata. Nothing that is printed varies from run to run.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")); !bytes.Equal(got, want) {
		t.Errorf("not as in %s; if that is right, run with -update\n%s", file, got)
	}
}

// TestText: the story that people read, as it is, without escape sequences where there is
// no terminal, and with both limits (M3).
func TestText(t *testing.T) {
	env, out := environment()
	if err := run(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	golden(t, "text.golden", out.Bytes())
	for _, want := range []string{limitSelf, limitTofu, "model: " + flowerrors.ModelText} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the text lacks %q", want)
		}
	}
	for _, c := range out.String() {
		if c != '\n' && (c < ' ' || c > '~') {
			t.Fatalf("the text has %q", c)
		}
	}
}

// TestJSON: one object per step, with exactly these members, and what was sent and run
// agrees with the outcome.
func TestJSON(t *testing.T) {
	env, out := environment("-json")
	if err := run(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	golden(t, "json.golden", out.Bytes())
	seen := make(map[string]bool)
	for line := range strings.Lines(out.String()) {
		var fields map[string]any
		var r result
		if err := errors.Join(json.Unmarshal([]byte(line), &fields), json.Unmarshal([]byte(line), &r)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if len(fields) != 7 {
			t.Errorf("%d members: %s", len(fields), line)
		}
		for _, member := range []string{"scenario", "step", "server", "target", "outcome", "sent", "handlerRan"} {
			if _, ok := fields[member]; !ok {
				t.Errorf("no %s: %s", member, line)
			}
		}
		if sent, ran := r.Outcome == allowed || r.Outcome == rejected, r.Outcome == allowed; r.Sent != sent || r.HandlerRan != ran {
			t.Errorf("the outcome does not fit: %s", line)
		}
		if key := r.Scenario + " " + r.Step; seen[key] {
			t.Errorf("twice: %s", key)
		} else {
			seen[key] = true
		}
	}
	for _, sc := range story() {
		for _, s := range steps(sc) {
			if !seen[sc.name+" "+s.name] {
				t.Errorf("%s lacks %s", sc.name, s.name)
			}
		}
	}
}

func steps(sc scenario) (list []step) {
	for _, st := range sc.stages {
		for _, t := range st.turns {
			list = append(list, t.steps...)
		}
	}
	return list
}

// opened returns a demo that is ready, and closes it with the test.
func opened(t *testing.T) *demo {
	t.Helper()
	env, _ := environment()
	d := &demo{log: serve.Logger(io.Discard, env, true)}
	t.Cleanup(func() {
		if err := d.close(); err != nil {
			t.Error(err)
		}
		ended(t, d)
	})
	if err := d.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// ended fails the test unless every process has ended and nothing is left on the disk.
func ended(t *testing.T, d *demo) {
	t.Helper()
	noProcess(t, d)
	if _, err := os.Stat(d.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
}

// noProcess fails the test unless every process has been waited for.
func noProcess(t *testing.T, d *demo) {
	t.Helper()
	for _, cmd := range d.processes {
		if cmd.Process != nil && cmd.ProcessState == nil {
			t.Errorf("%s is left", cmd)
		}
	}
}

// TestWhatTheModelIsTold: of every refusal the model is told the one sentence, whoever has
// refused, and nowhere anything of the reason (H7).
func TestWhatTheModelIsTold(t *testing.T) {
	d := opened(t)
	env, _ := environment("-json")
	if err := d.tell(t.Context(), story(), newReporter(env, true)); err != nil {
		t.Fatal(err)
	}
	refusals, sentences := 0, 0
	for _, s := range d.sessions {
		for _, r := range s.results {
			if s.host != nil && r.Outcome != allowed {
				refusals++
			}
		}
		for _, m := range s.models {
			for _, text := range m.told {
				if text == flowerrors.ModelText {
					sentences++
				}
				for _, word := range []string{"acceptFrom", "unverified", "webfetch.example", "mirror.example", "flowPolicyViolation", "-32000", "403"} {
					if strings.Contains(text, word) {
						t.Errorf("%s: the model was told %q in %q", s.scenario, word, text)
					}
				}
			}
		}
	}
	if refusals == 0 || sentences != refusals {
		t.Errorf("%d refusals, and the model was told of %d", refusals, sentences)
	}
}

// TestWrong: whatever does not come out as it must fails the demo, which says what was
// expected. Each case changes one thing in the last stage of a scenario.
func TestWrong(t *testing.T) {
	d := opened(t)
	off := func(s *stage) { s.off = true }
	for _, c := range []struct {
		name, scenario string
		change         func(*stage)
		want           []string
	}{
		{"the server does not check", "server-checks", off, []string{"export: allowed (sent: yes, handler ran: yes): must be rejected-by-server"}},
		{"the host does not check", "host-checks", func(s *stage) { s.host = noPrecheck }, []string{"export: rejected-by-server", "must be blocked-by-host-precheck"}},
		{"nobody checks", "host-checks", func(s *stage) { s.host, s.off = noPrecheck, true }, []string{"unexpected: blocked-by-host-ceiling"}},
		{"no ceiling", "ceiling", func(s *stage) { s.host = noChecks }, []string{"upload: allowed", "must be blocked-by-host-ceiling"}},
		{"a read gets out", "read", off, []string{"unchecked-read: allowed (sent: yes, handler ran: yes)"}},
		{"a subscription gets out", "subscribe", off, []string{"unchecked-subscribe: allowed (sent: yes, handler ran: no)"}},
		{"a task gets out", "task", off, []string{"unchecked-report: allowed", "unchecked-archive: allowed", "2 task(s) were created"}},
		{"no label is enough", "unlabelled", off, []string{"export: allowed"}},
		{"legitimate use is blocked", "legitimate", func(s *stage) { s.host.Private = true }, []string{"export: blocked-by-host-precheck", "must be allowed"}},
		{"an attack that fails", "today", func(s *stage) { s.off = false }, []string{"fetch: rejected-by-server", "export: failed", "was not even tried", "what was uploaded"}},
		{"a step too few", "record", func(s *stage) { s.turns[0].steps = s.turns[0].steps[:1] }, []string{"unexpected: blocked-by-host-precheck"}},
		{"a step too many", "record", func(s *stage) { s.turns[0].steps = append(slices.Clone(s.turns[0].steps), fetches) }, []string{"was not even tried"}},
		{"another target", "record", func(s *stage) { s.turns[0].steps = []step{exports, fetches} }, []string{"must be export_records at records"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := options{scenario: c.scenario}.chosen()
			c.change(&list[0].stages[len(list[0].stages)-1])
			env, out := environment()
			err := d.tell(t.Context(), list, newReporter(env, false))
			if err == nil {
				t.Fatalf("nothing is wrong\n%s", out)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in\n%v", want, err)
				}
			}
			if !strings.Contains(out.String(), "WRONG") {
				t.Errorf("the text does not say that anything is wrong\n%s", out)
			}
		})
	}
}

// TestOutcomes: what a host did not send for another reason is not what must come of a step.
func TestOutcomes(t *testing.T) {
	for _, o := range []host.Outcome{host.Answered, host.BlockedByName, host.NotSent, host.RefusedByServer, host.Failed, ""} {
		if got := blocked(o); got != failed {
			t.Errorf("%s: %s", o, got)
		}
	}
}

// TestHostile: what a page or a server has written reaches a terminal escaped (M3).
func TestHostile(t *testing.T) {
	env, out := environment()
	r := newReporter(env, false)
	m := &model{}
	m.hear("CALL records \x1b[31mexport\u202e")
	o, ok := m.next()
	if !ok {
		t.Fatal("the model does nothing")
	}
	r.step(stage{}, result{Step: "export", Server: o.server, Target: o.target, Outcome: failed, problem: "must be allowed"})
	if strings.ContainsAny(out.String(), "\x1b\u202e") || !strings.Contains(out.String(), `\x1b[31mexport\u202e`) {
		t.Errorf("%q", out)
	}
}

// TestUsage: a mistake on the command line is explained, and nothing is built.
func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-scenario", "nosuch"}, {"extra"}, {"-nosuch"}} {
		env, _ := environment(args...)
		var said bytes.Buffer
		env.Stderr = &said
		if err := run(t.Context(), env); !errors.Is(err, serve.ErrUsage) || !strings.Contains(said.String(), "today, host-checks") {
			t.Errorf("%q: %v\n%s", args, err, &said)
		}
	}
}
