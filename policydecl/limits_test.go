package policydecl_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// labelOfSize returns a label whose compact text has exactly n bytes.
func labelOfSize(n int) string {
	const head, tail = `{"contributors":[{"assurance":"user"}],"complete":true,"x":[`, `]}`
	var b strings.Builder
	b.WriteString(head)
	for left := n - len(head) - len(tail); left > 0; {
		size := min(left, 1000)
		if left-size > 0 && left-size < 4 {
			size -= 4
		}
		comma := ""
		if left != n-len(head)-len(tail) {
			comma = ","
		}
		fmt.Fprintf(&b, `%s"%s"`, comma, strings.Repeat("a", size-2-len(comma)))
		left -= size
	}
	b.WriteString(tail)
	return b.String()
}

func manyContributors(n int) string {
	return `{"contributors":[` + strings.TrimSuffix(strings.Repeat(`{"assurance":"user"},`, n), ",") + `],"complete":true}`
}

func nested(depth int) string {
	return `{"contributors":[{"assurance":"user"}],"complete":true,"x":` +
		strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`
}

func longString(n int) string {
	return `{"contributors":[{"assurance":"user","x":"` + strings.Repeat("a", n) + `"}],"complete":true}`
}

func longName(n int) string {
	return `{"contributors":[{"assurance":"user"}],"complete":true,"` + strings.Repeat("n", n) + `":1}`
}

// L7: over any budget the whole label is malformed; raising the budget reads it.
func TestL7Budgets(t *testing.T) {
	type limits = policydecl.Limits
	for _, row := range []struct {
		name           string
		within, beyond string
		raised         limits
	}{
		{"contributors", manyContributors(256), manyContributors(257), limits{Contributors: 300}},
		{"string", longString(2048), longString(2049), limits{String: 4096}},
		{"name", longName(2048), longName(2049), limits{String: 4096}},
		{"depth", nested(8), nested(9), limits{Depth: 9}},
		{"bytes", labelOfSize(65_536), labelOfSize(65_537), limits{Bytes: 70_000}},
	} {
		t.Run(row.name, func(t *testing.T) {
			for raw, want := range map[string]policydecl.Class{row.within: policydecl.ClassOK, row.beyond: policydecl.ClassMalformed} {
				l, p := policydecl.LabelOf(decode(t, raw), true, defaultLimits), policydecl.ParseLabel([]byte(raw), defaultLimits)
				if l.Class() != want || p.Class() != want {
					t.Errorf("%d bytes: LabelOf %v, ParseLabel %v, want %v", len(raw), l.Class(), p.Class(), want)
				}
			}
			l, p := policydecl.LabelOf(decode(t, row.beyond), true, row.raised), policydecl.ParseLabel([]byte(row.beyond), row.raised)
			if l.Class() != policydecl.ClassOK || p.Class() != policydecl.ClassOK {
				t.Errorf("raised: LabelOf %v, ParseLabel %v", l.Class(), p.Class())
			}
		})
	}
}

// L7: a string that is too long makes the label malformed wherever it stands, whether or
// not anybody would have read it.
func TestL7LongStringAnywhere(t *testing.T) {
	long := strings.Repeat("a", 2049)
	for _, format := range []string{
		`{"contributors":[{"assurance":"%s"}],"complete":true}`,
		`{"contributors":[{"principal":"https://h/%s","assurance":"user"}],"complete":true}`,
		`{"contributors":[{"assurance":"user","publisher":"%s"}],"complete":true}`,
		`{"contributors":[{"assurance":"user"},"%s"],"complete":true}`,
		`{"contributors":[{"assurance":"user"}],"complete":"%s"}`,
		`{"contributors":[{"assurance":"user"}],"complete":true,"x":["%s"]}`,
		`{"contributors":[{"assurance":"user"}],"complete":true,"x":{"y":"%s"}}`,
		`{"contributors":"%s","complete":true}`,
		`{"contributors":[{"assurance":"user","%s":1}],"complete":true}`,
	} {
		raw := fmt.Sprintf(format, long)
		l, p := policydecl.LabelOf(decode(t, raw), true, defaultLimits), policydecl.ParseLabel([]byte(raw), defaultLimits)
		if l.Class() != policydecl.ClassMalformed || p.Class() != policydecl.ClassMalformed {
			t.Errorf("%s: LabelOf %v, ParseLabel %v", format, l.Class(), p.Class())
		}
	}
}

// L7: a budget that somebody lowers stays where it is.
func TestL7LoweringDoesNothing(t *testing.T) {
	low := policydecl.Limits{Contributors: 1, Bytes: 1, String: 1, Depth: -5}
	for _, raw := range []string{manyContributors(256), nested(8), longString(2048)} {
		if l := policydecl.LabelOf(decode(t, raw), true, low); l.Class() != policydecl.ClassOK {
			t.Errorf("a lowered budget reads %v", l.Class())
		}
	}
}

// L7 and P8: what is read can be written and read again, so a label that only fits
// because a contributor left out its assurance does not fit.
func TestL7WrittenFormCounts(t *testing.T) {
	entry := fmt.Sprintf(`{"principal":"https://h/%s"}`, strings.Repeat("a", 2010))
	raw := `{"contributors":[` + strings.TrimSuffix(strings.Repeat(entry+",", 32), ",") + `]}`
	if len(raw) > policydecl.MaxLabelBytes {
		t.Fatalf("%d bytes: the test wants a label that fits as it is", len(raw))
	}
	l := policydecl.ParseLabel([]byte(raw), defaultLimits)
	if l.Class() != policydecl.ClassMalformed {
		t.Errorf("reads as %v", l.Class())
	}
	written := l.AppendJSON(nil)
	if back := policydecl.ParseLabel(written, defaultLimits); !back.Equal(l) {
		t.Errorf("reads as %v, and written and read again as %v", l.Class(), back.Class())
	}
	big := policydecl.Limits{Bytes: 1 << 20}
	if l := policydecl.ParseLabel([]byte(raw), big); l.Len() != 33 {
		t.Errorf("with room there are %d contributors, want 32 and the synthetic one", l.Len())
	}
}

// L7: a host cannot build what no peer would read.
func TestL7BuildLabel(t *testing.T) {
	many := make([]policydecl.Contributor, 257)
	if l := policydecl.BuildLabel(true, many...); l.Class() != policydecl.ClassMalformed {
		t.Errorf("257 contributors build %v", l.Class())
	}
	if l := policydecl.BuildLabel(true, many[:256]...); l.Class() != policydecl.ClassOK {
		t.Errorf("256 contributors build %v", l.Class())
	}
	for i := range many {
		many[i] = server("https://h/"+strings.Repeat("a", 1500), policydecl.TOFU)
	}
	if l := policydecl.BuildLabel(true, many[:100]...); l.Class() != policydecl.ClassMalformed {
		t.Errorf("150 KiB build %v", l.Class())
	}
}

// L7: numbers may count for more than they are long, never for less than is bounded.
func TestL7Numbers(t *testing.T) {
	huge := json.Number(strings.Repeat("9", 70_000))
	v := map[string]any{"contributors": []any{map[string]any{"assurance": "user"}}, "complete": true, "n": huge}
	if l := policydecl.LabelOf(v, true, defaultLimits); l.Class() != policydecl.ClassMalformed {
		t.Errorf("a number of 70,000 digits: %v", l.Class())
	}
}

func TestLimitsValidate(t *testing.T) {
	for _, good := range []policydecl.Limits{{}, {Contributors: 256, Bytes: 64 << 10, String: 2 << 10, Depth: 8}, {Bytes: 1 << 20, Depth: 10_000}} {
		if err := good.Validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	err := policydecl.Limits{Contributors: 255, Bytes: 1, String: -1, Depth: 7}.Validate()
	wantFaults(t, err, "contributors over-limit", "bytes over-limit", "string over-limit", "depth over-limit")
	wantFaults(t, policydecl.Limits{Depth: 10_001}.Validate(), "depth over-limit")
}
