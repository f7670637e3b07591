package overrides_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// keeps checks that overrides without mistakes can be written and read again.
func keeps(t testing.TB, o overrides.Overrides) {
	t.Helper()
	if err := o.Check(); err != nil {
		t.Fatalf("Parse found nothing, Check finds %v", err)
	}
	written, err := o.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := overrides.Parse(".json", written)
	if err != nil {
		t.Fatalf("%s: %v", written, err)
	}
	if rewritten, err := again.AppendJSON(nil); err != nil || string(rewritten) != string(written) {
		t.Fatalf("%s\nbecame\n%s (%v)", written, rewritten, err)
	}
	if again.Digest() != o.Digest() || again.IsZero() != o.IsZero() || len(again.Targets) != len(o.Targets) {
		t.Fatalf("%s\nwas read as %+v", written, again)
	}
}

func TestAppendJSON(t *testing.T) {
	o := parse(t, everything["o.json"])
	keeps(t, o)
	keeps(t, overrides.Overrides{})
	got, err := o.AppendJSON([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `x{"flowgate":1,"uri":"https://records.example/mcp","default":{"acceptFrom":["self","user"]},"mode":"enforce","dangerouslyLoosen":true,` +
		`"tools":{"7":{"mode":"off"},"Export":{"acceptFrom":[]},"export":{"acceptFrom":["com.example.tier:gold","publisher:https://p.example/"]},` +
		`"export_records":{"acceptFrom":["user"],"mode":"report","optional":true}},"prompts":{"summarise":{"mode":"enforce"}},` +
		`"resources":{"records://customers":{"acceptFrom":["self"]}},"templates":{"records://customers/{id}":{"acceptFrom":["self"]}},` +
		`"prefixes":{"records://internal/":{"acceptFrom":[]}}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if m, err := json.Marshal(map[string]any{"o": overrides.Overrides{Mode: policydecl.DangerouslyReport}}); err != nil || string(m) != `{"o":{"flowgate":1,"mode":"report"}}` {
		t.Errorf("%s %v", m, err)
	}
	// Nothing is written that could not be read.
	dst := []byte("x")
	if got, err := (overrides.Overrides{URI: "records"}).AppendJSON(dst); err == nil || string(got) != "x" {
		t.Errorf("%s %v", got, err)
	}
	large := overrides.Overrides{}
	for i := range 11_000 {
		large.Targets = append(large.Targets, overrides.Target{Kind: policydecl.Tool, Name: fmt.Sprintf("%090d", i), Mode: policydecl.Enforce})
	}
	got, err = large.AppendJSON(dst)
	for e := range flowerrors.All(err) {
		if e.Reason != flowerrors.ReasonLimit || e.Limit != overrides.MaxBytes {
			t.Error(e)
		}
	}
	if err == nil || string(got) != "x" {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// The digest is that of what is said, not of how.
func TestDigest(t *testing.T) {
	base := overrides.Overrides{
		URI: "https://h.example/", Default: policydecl.AcceptFrom("self", "https://a.example/"), Mode: policydecl.Enforce,
		Targets: []overrides.Target{
			{Kind: policydecl.Tool, Name: "a", Policy: policydecl.AcceptFrom("user", "host")},
			{Kind: policydecl.Prompt, Name: "a", Mode: policydecl.DangerouslyOff},
		},
	}
	same := base.Clone()
	slices.Reverse(same.Targets)
	same.URI = "HTTPS://H.example:443"
	same.Default = policydecl.AcceptFrom("HTTPS://A.example", "self")
	same.Targets[1].Policy = policydecl.AcceptFrom("host", "user")
	if base.Digest() != same.Digest() || base.Targets[0].Kind != policydecl.Tool {
		t.Errorf("%s, %s", base.Digest(), same.Digest())
	}
	digests := map[string]string{base.Digest(): "base", (overrides.Overrides{}).Digest(): "zero"}
	for name, change := range map[string]func(*overrides.Overrides){
		"uri":        func(o *overrides.Overrides) { o.URI = "" },
		"default":    func(o *overrides.Overrides) { o.Default = policydecl.Policy{} },
		"empty":      func(o *overrides.Overrides) { o.Default = policydecl.AcceptFrom() },
		"mode":       func(o *overrides.Overrides) { o.Mode = policydecl.ModeUnset },
		"undeclared": func(o *overrides.Overrides) { o.DangerouslyReportUndeclared = true },
		"loosen":     func(o *overrides.Overrides) { o.DangerouslyLoosen = true },
		"fewer":      func(o *overrides.Overrides) { o.Targets = o.Targets[:1] },
		"kind":       func(o *overrides.Overrides) { o.Targets[0].Kind = policydecl.Resource },
		"name":       func(o *overrides.Overrides) { o.Targets[0].Name = "b" },
		"policy":     func(o *overrides.Overrides) { o.Targets[0].Policy = policydecl.AcceptFrom("user") },
		"no policy":  func(o *overrides.Overrides) { o.Targets[0].Policy = policydecl.Policy{} },
		"optional":   func(o *overrides.Overrides) { o.Targets[0].Optional = true },
		"its mode":   func(o *overrides.Overrides) { o.Targets[0].Mode = policydecl.Enforce },
	} {
		o := base.Clone()
		change(&o)
		if other, twice := digests[o.Digest()]; twice {
			t.Errorf("%s has the digest of %s", name, other)
		}
		digests[o.Digest()] = name
	}
	for digest := range digests {
		if rest, ok := strings.CutPrefix(digest, "sha256:"); !ok || len(rest) != 16 {
			t.Errorf("%q", digest)
		}
	}
}

// What is wrong with a value built in Go is told at once, in the notation of policydecl.
func TestCheck(t *testing.T) {
	o := overrides.Overrides{
		URI: "records", Default: policydecl.AcceptFrom("User"), Mode: 9,
		Targets: []overrides.Target{
			{Kind: policydecl.Tool, Name: "a", Policy: policydecl.AcceptFrom("self", "*"), Mode: 9},
			{Kind: policydecl.Tool, Name: "a", Mode: policydecl.Enforce},
			{Kind: policydecl.Tool, Name: "b", Optional: true},
			{Kind: policydecl.Tool, Name: "\xff", Mode: policydecl.Enforce},
			{Name: "c", Mode: policydecl.Enforce},
			{Kind: policydecl.Prefix, Name: "x://a/", Mode: policydecl.Enforce, Optional: true},
			{Kind: policydecl.Resource, Name: "x://{a}", Mode: policydecl.Enforce},
			{Kind: policydecl.Tool, Name: "d", Policy: policydecl.AcceptFrom("com.example.tier:gold", "ftp:x")},
		},
	}
	var got []string
	for e := range flowerrors.All(o.Check()) {
		got = append(got, e.Path+" "+string(e.Reason))
	}
	want := []string{
		"uri unusable-uri", "default.acceptFrom[0] unknown-token", `tools["a"].acceptFrom[1] unknown-token`, `tools["a"] duplicate`,
		`tools["\xff"] never-matches`, `targets[4] wrong-type`, `tools["d"].acceptFrom[1] unknown-token`, `resources["x://{a}"] never-matches`, "mode unknown-token", `tools["a"].mode unknown-token`,
		`tools["b"] missing`, `prefixes["x://a/"].optional unsupported`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err := (overrides.Overrides{}).Check(); err != nil {
		t.Error(err)
	}
}
