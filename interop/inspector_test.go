//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

const inspectorScript = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"

// inspector is the Inspector's command line. Of an error it shows the message alone,
// whatever the error is, and it takes the JSON-RPC code 403 for the HTTP status: it
// calls a refusal "auth_required" and ends with the status for that, also on stdio. It
// does not try to log in; there would be no terminal for that, and another message.
var inspector = client{class: "auth_required", dropsData: true}

// The exit statuses of the Inspector.
const (
	inspectorOK           = 0
	inspectorAuthRequired = 3
)

// inspectorEras are the words for the eras on its command line.
var inspectorEras = map[string]string{legacy: "legacy", modern: "modern"}

// Every request is a process and a session of its own here. What goes on working after
// a refusal is the server, and over HTTP it is one server for the whole plan.
func TestInspector(t *testing.T) {
	for _, s := range servers {
		for version := range inspectorEras {
			t.Run(s.name+"/http/"+version, func(t *testing.T) {
				t.Parallel()
				ctx := testContext(t)
				url := s.http(ctx, t)
				got, _ := driveInspector(ctx, t, []string{url}, version, s.plan())
				inspector.check(t, s, s.plan(), version, got)
				checkCounts(t, httpCounts(ctx, t, url), s.ran())
			})
			t.Run(s.name+"/stdio/"+version, func(t *testing.T) {
				t.Parallel()
				ctx := testContext(t)
				got, ran := driveInspector(ctx, t, s.stdioCommand(t), version, s.plan())
				inspector.check(t, s, s.plan(), version, got)
				checkCounts(t, ran, s.ran())
			})
		}
	}
}

// The Inspector's load test sends one call again and again in one session. All of them
// are refused for the policy, none because an earlier refusal has broken the session;
// and with a label that is accepted, all of them run.
func TestInspectorSession(t *testing.T) {
	for _, s := range servers {
		for version := range inspectorEras {
			t.Run(s.name+"/http/"+version, func(t *testing.T) {
				t.Parallel()
				ctx := testContext(t)
				url := s.http(ctx, t)
				refused, accepted := s.toolSteps()
				load(ctx, t, []string{url}, version, refused, true)
				checkCounts(t, httpCounts(ctx, t, url), map[string]int{})
				load(ctx, t, []string{url}, version, accepted, false)
				checkCounts(t, httpCounts(ctx, t, url), map[string]int{accepted.target.handler: loadRequests})
			})
			t.Run(s.name+"/stdio/"+version, func(t *testing.T) {
				t.Parallel()
				ctx := testContext(t)
				refused, accepted := s.toolSteps()
				stderr := load(ctx, t, s.stdioCommand(t), version, refused, true)
				checkCounts(t, stdioCounts(t, stderr), map[string]int{})
				stderr = load(ctx, t, s.stdioCommand(t), version, accepted, false)
				checkCounts(t, stdioCounts(t, stderr), map[string]int{accepted.target.handler: loadRequests})
			})
		}
	}
}

// toolSteps are a call that is refused and the same call accepted.
func (s server) toolSteps() (refused, accepted step) {
	for _, step := range s.plan() {
		switch {
		case step.Method != "tools/call":
		case step.label.rejected == "":
			accepted = step
		default:
			refused = step
		}
	}
	return refused, accepted
}

const loadRequests = 3

// load sends loadRequests calls in one session and returns standard error.
func load(ctx context.Context, t *testing.T, target []string, version string, s step, refused bool) string {
	t.Helper()
	args := append(inspectorArgs(t, target, version, s), "--load", "--load-requests", "3", "--load-concurrency", "1")
	stdout, stderr, code := runNode(ctx, t, nil, inspectorScript, args...)
	var got struct {
		Result struct {
			Requests      int             `json:"requests"`
			OK            int             `json:"ok"`
			ToolErrors    int             `json:"toolErrors"`
			Errors        int             `json:"errors"`
			ErrorMessages json.RawMessage `json:"errorMessages"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != inspectorOK {
		t.Fatalf("%v: exit status %d, %q: %v\n%s", s, code, stdout, err, stderr)
	}
	ok, errors, messages := loadRequests, 0, `[]`
	if refused {
		ok, errors, messages = 0, loadRequests, `[{"message":"Request rejected by flow policy","count":3}]`
	}
	r := got.Result
	if r.Requests != loadRequests || r.OK != ok || r.Errors != errors || r.ToolErrors != 0 || !sameJSON(r.ErrorMessages, messages) {
		t.Errorf("%v: %s", s, stdout)
	}
	return stderr
}

// driveInspector carries out a plan. It returns also how often each handler ran in the
// processes of a server on stdio, all in all.
func driveInspector(ctx context.Context, t *testing.T, target []string, version string, steps []step) (session, map[string]int) {
	t.Helper()
	first, _ := inspect(ctx, t, target, version, step{Method: "initialize"})
	var initialized struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"capabilities"`
	}
	if err := json.Unmarshal(first.Result, &initialized); err != nil {
		t.Fatalf("%s, %s: %v", first.Result, first.Error, err)
	}
	got := session{version: initialized.ProtocolVersion, capabilities: initialized.Capabilities}
	ran := make(map[string]int)
	for _, step := range steps {
		a, stderr := inspect(ctx, t, target, version, step)
		got.answers = append(got.answers, a)
		if len(target) > 1 { // a command, and not a URL
			for handler, n := range stdioCounts(t, stderr) {
				ran[handler] += n
			}
		}
	}
	return got, ran
}

// inspect makes one request, and returns its answer and what else was on standard error.
func inspect(ctx context.Context, t *testing.T, target []string, version string, s step) (answer, string) {
	t.Helper()
	stdout, stderr, code := runNode(ctx, t, nil, inspectorScript, inspectorArgs(t, target, version, s)...)
	if code == inspectorOK {
		var a answer
		if err := json.Unmarshal([]byte(stdout), &a); err != nil {
			t.Fatalf("%v: %q: %v", s, stdout, err)
		}
		return a, stderr
	}
	for line := range strings.Lines(stderr) {
		var got struct {
			Error map[string]any `json:"error"`
		}
		if json.Unmarshal([]byte(line), &got) != nil || got.Error == nil {
			continue
		}
		class, _ := got.Error["code"].(string)
		if (class == inspector.class) != (code == inspectorAuthRequired) {
			t.Errorf("%v: exit status %d with %s", s, code, line)
		}
		// Its code is a word of its own; the one of the error stands in status.
		members := maps.Clone(got.Error)
		members["code"] = members["status"]
		delete(members, "status")
		return answer{Error: encode(t, members), Class: class}, stderr
	}
	t.Fatalf("%v: exit status %d without an error\n%s%s", s, code, stdout, stderr)
	return answer{}, ""
}

// inspectorArgs writes a request as the Inspector's command line. It can send any
// _meta: what looks like JSON in --metadata is sent as JSON.
func inspectorArgs(t *testing.T, target []string, version string, s step) []string {
	t.Helper()
	args := append([]string{"--cli"}, target...)
	args = append(args, "--method", s.Method, "--protocol-era", inspectorEras[version], "--format", "json")
	switch s.Method {
	case "tools/call":
		args = append(args, "--tool-name", s.Params["name"].(string), "--tool-args-json", string(encode(t, s.Params["arguments"])))
	case "resources/read":
		args = append(args, "--uri", s.Params["uri"].(string))
	case "prompts/get":
		args = append(args, "--prompt-name", s.Params["name"].(string), "--prompt-args")
		for name, value := range s.Params["arguments"].(map[string]any) {
			args = append(args, name+"="+value.(string))
		}
	}
	if s.label.text != "" {
		args = append(args, "--metadata", labelKey+"="+s.label.text)
	}
	return args
}
