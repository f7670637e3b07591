package policydecl_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The fixture that all tests share: a records server, a partner it could know, and a
// fetch server nobody knows.
const (
	ownURI     = "https://records.example/mcp"
	partnerURI = "https://partner.example/mcp"
	fetchURI   = "https://fetch.example/mcp"
	publisher  = "https://acme.example/p.json"
)

var defaultLimits policydecl.Limits

func mustCompile(t testing.TB, cfg policydecl.Config) *policydecl.Set {
	t.Helper()
	if cfg.URI == "" {
		cfg.URI = ownURI
	}
	s, err := policydecl.Compile(cfg)
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	return s
}

// label returns a complete label.
func label(cs ...policydecl.Contributor) policydecl.Label { return policydecl.BuildLabel(true, cs...) }

func user() policydecl.Contributor {
	return policydecl.NewContributor(policydecl.PrincipalUser, policydecl.User, "")
}

func server(uri string, a policydecl.Assurance) policydecl.Contributor {
	return policydecl.NewContributor(uri, a, "")
}

// decode returns what encoding/json makes of a JSON text.
func decode(t testing.TB, raw string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("bad JSON in a test: %v: %s", err, raw)
	}
	return v
}

// accepts decides a label under one policy on the fixture's server.
func accepts(t testing.TB, l policydecl.Label, tokens ...string) bool {
	t.Helper()
	p := policydecl.AcceptFrom(tokens...)
	d := mustCompile(t, policydecl.Config{}).Decide(context.Background(), &l, p)
	if (d.Violation() == nil) != d.Accepted() {
		t.Fatalf("Violation() = %v beside Accepted() = %v", d.Violation(), d.Accepted())
	}
	return d.Accepted()
}

// faults returns the mistakes in err as path and reason.
func faults(err error) []string {
	var list []string
	for ce := range flowerrors.All(err) {
		list = append(list, ce.Path+" "+string(ce.Reason))
	}
	return list
}

// wantFaults compares the mistakes in err with a list, in order.
func wantFaults(t testing.TB, err error, want ...string) {
	t.Helper()
	if got := faults(err); !slices.Equal(got, want) {
		t.Errorf("mistakes %q, want %q\n%v", got, want, err)
	}
}
