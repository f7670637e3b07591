package inspect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := inspect.Run(ctx, func(context.Context, string, map[string]any) (json.RawMessage, error) {
		cancel()
		return json.RawMessage(`{"tools":[],"nextCursor":"again"}`), nil
	}, []byte(everything))
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r := &inspect.Report{}
	if err := r.AddList(ctx, policydecl.Tool, []byte(tools(tool("a", "")))); !errors.Is(err, context.Canceled) || len(r.Entries) != 0 {
		t.Errorf("%v, %d entries", err, len(r.Entries))
	}
}

// lasting is a context that ends after it was looked at some times.
type lasting struct {
	context.Context
	left int
}

func (l *lasting) Err() error {
	if l.left--; l.left < 0 {
		return context.Canceled
	}
	return nil
}

// One declaration is bounded by policydecl; between two of them the context is looked at,
// so a list of the largest that there are ends in time.
func TestCancelledBetweenDeclarations(t *testing.T) {
	var props strings.Builder
	for i := range 24_000 { // about as many values as a declaration may hold
		fmt.Fprintf(&props, `,"p%d":{"type":"strng"}`, i)
	}
	large := `{"name":"a","inputSchema":{"type":"object","properties":{` + props.String()[1:] + `}}}`
	r := &inspect.Report{}
	err := r.AddList(&lasting{t.Context(), 2}, policydecl.Tool, []byte(tools(slices.Repeat([]string{large}, 20)...)))
	if !errors.Is(err, context.Canceled) || len(r.Entries) != 2 {
		t.Errorf("%v, %d entries", err, len(r.Entries))
	}
	if len(r.Entries[0].Faults) != inspect.MaxFaults || r.Entries[0].More != 0 || !r.Entries[0].Capped {
		t.Errorf("%d faults, %d more", len(r.Entries[0].Faults), r.Entries[0].More)
	}
}

// The fault that says that there are more counts once, for the first of them.
func TestCappedFaults(t *testing.T) {
	bad := func(n int) string { // n tokens that nobody knows
		return `,"flowPolicy":{"acceptFrom":[` + strings.TrimSuffix(strings.Repeat(`"nonsense",`, n), ",") + `]}`
	}
	for _, tt := range []struct {
		list        []string
		count, more int
		capped      bool
	}{
		{[]string{tool("a", bad(98))}, 98, 0, false},
		{[]string{tool("a", bad(policydecl.MaxFaults-1))}, policydecl.MaxFaults - 1, 0, false},
		{[]string{tool("a", bad(policydecl.MaxFaults))}, policydecl.MaxFaults, 0, true},
		{[]string{tool("a", bad(1000))}, policydecl.MaxFaults, 0, true},
		{[]string{tool("a", ""), tool("a", bad(1000))}, policydecl.MaxFaults + 1, 1, true}, // and it is listed twice
	} {
		r := run(t, `{"capabilities":{"tools":{},"flow":{"policy":true}}}`, answers{"tools/list": tools(tt.list...)})
		if e := r.Entries[len(r.Entries)-1]; r.Count() != tt.count || e.More != tt.more || r.Capped() != tt.capped {
			t.Errorf("%d, %d more, %v; want %+v", r.Count(), e.More, r.Capped(), tt)
		}
	}
}

func TestManyFindingsAreBounded(t *testing.T) {
	list := `["` + strings.Repeat(`nonsense","`, inspect.MaxFaults) + `user"]`
	r := run(t, `{"capabilities":{"tools":{},"flow":{"policy":true}}}`, answers{"tools/list": tools(slices.Repeat([]string{tool("a", `,"flowPolicy":{"acceptFrom":`+list+`}`)}, 150)...)})
	kept := 0
	for i := range r.Entries {
		if e := &r.Entries[i]; len(e.Faults)+e.More < inspect.MaxFaults {
			t.Errorf("%d: %d and %d more", i, len(e.Faults), e.More)
		}
		kept += len(r.Entries[i].Faults)
	}
	if kept != inspect.MaxAllFaults {
		t.Errorf("%d kept", kept)
	}
	names := ""
	for i := range 500 {
		names += fmt.Sprintf(`"%d":1,"%d":2,`, i, i)
	}
	r = run(t, `{"capabilities":{"tools":{}}}`, answers{"tools/list": `{` + names + `"tools":[]}`})
	if len(r.Other) != inspect.MaxOther || r.More != 500-inspect.MaxOther || r.Count() != 500 {
		t.Errorf("%d findings, %d more", len(r.Other), r.More)
	}
}
