package overrides_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/overrides"
)

// linearTexts make a text of about n bytes each, of one thing over and over.
var linearTexts = map[string]func(n int) string{
	"list of one line":    func(n int) string { return `{"flowgate":1,"default":{"acceptFrom":[` + fill(n, `"a",`) + `"a"]}}` },
	"list with marks":     func(n int) string { return `{"flowgate":1,"default":{"acceptFrom":[` + fill(n, `"!",`) + `"a"]}}` },
	"numbers":             func(n int) string { return `{"flowgate":1,"x":[` + fill(n, `0,`) + `0]}` },
	"lists in a list":     func(n int) string { return `{"flowgate":1,"x":[` + fill(n, `[[["!"]]],`) + `0]}` },
	"deeper than is read": func(n int) string { return `{"flowgate":1,"x":[[[[[[[` + fill(n, `[[""]],`) + `0]]]]]]]}` },
	"unknown members":     func(n int) string { return `{` + count(n, `"m%d":0,`) + `"flowgate":1}` },
	"targets": func(n int) string {
		return `{"flowgate":1,"tools":{` + count(n, `"t%d":{"mode":"enforce"},`) + `"z":{"mode":"off"}}}`
	},
	"targets on lines": func(n int) string {
		return `{"flowgate":1,"tools":{` + count(n, "\n\"t%d\": {\"mode\": \"enforce\"},") + `"z":{"mode":"off"}}}`
	},
	"targets at fault": func(n int) string {
		return `{"flowgate":1,"tools":{` + count(n, `"t%d":{"acceptFrom":["User"]},`) + `"z":{"mode":"off"}}}`
	},
	"prefixes": func(n int) string {
		return `{"flowgate":1,"prefixes":{` + count(n, `"x://a/%d/":{"mode":"enforce"},`) + `"x://z/":{"mode":"off"}}}`
	},
	"vendor tokens": func(n int) string {
		return `{"flowgate":1,"default":{"acceptFrom":[` + count(n, `"com.example.t%d:a",`) + `"a"]}}`
	},
	"different tokens": func(n int) string {
		return `{"flowgate":1,"default":{"acceptFrom":[` + count(n, `"https://h%d.example/",`) + `"self"]}}`
	},
	"the same member":   func(n int) string { return `{"flowgate":1` + fill(n, `,"mode":"off"`) + `}` },
	"policies at fault": func(n int) string { return `{"flowgate":1,"default":{"acceptFrom":[` + fill(n, `7,`) + `7]}}` },
	"escapes":           func(n int) string { return `{"flowgate":1,"uri":"` + fill(n, `\n\u0041\\`) + `"}` },
	"escaped names": func(n int) string {
		return `{"flowgate":1,"tools":{"` + fill(n, `\n\u00e9`) + `":{"mode":"nope","a":[[[0]]]}}}`
	},
	"not ASCII": func(n int) string {
		return `{"flowgate":1,"default":{"acceptFrom":[` + fill(n, `"!é€😀",`) + `"a"]}}`
	},
	"one name": func(n int) string { return `{"flowgate":1,"` + fill(n, `é/~`) + `":[[0],[1]]}` },
	"below one name": func(n int) string {
		return `{"flowgate":1,"default":{"acceptFrom":["User"]},"` + fill(n/2, `é/~`) + `":[` + fill(n/2, `0,`) + `0]}`
	},
	"targets of one name": func(n int) string {
		return `{"flowgate":1,"tools":{"` + fill(n/2, `é/`) + `":{"acceptFrom":[` + fill(min(n/2, 4000*7), `"User",`) + `"a"]}}}`
	},
	"empty lines": func(n int) string { return `{"flowgate":1,"x":` + fill(n, "\n") + `[0]}` },
	"lines":       func(n int) string { return `{"flowgate":1,"x":[` + fill(n, "\n\"!\",") + `0]}` },
	"hidden":      func(n int) string { return `{"flowgate":1,"x":"` + fill(n, "\n\u2028") + `"}` },
}

func fill(n int, s string) string { return strings.Repeat(s, n/len(s)) }

func count(n int, format string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Reading is linear, whatever a file is full of. What is counted is the memory that it
// takes, which no other work on the machine changes: sixteen times the text may take sixteen
// times as much and a little more, and quadratic work would take 256 times as much.
func TestLinear(t *testing.T) {
	const size = overrides.MaxBytes / 4
	for name, text := range linearTexts {
		for _, notation := range []string{".yaml", ".json"} {
			t.Run(name+notation, func(t *testing.T) {
				small, large := taken(t, notation, text(size/16)), taken(t, notation, text(size))
				if large > 48*small {
					t.Errorf("the small text takes %d bytes, the large one %d", small, large)
				}
			})
		}
	}
}

// taken returns how much memory it takes to read a text, freed or not.
func taken(t *testing.T, notation, text string) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, faults := overrides.Validate(notation, []byte(text))
	runtime.ReadMemStats(&after)
	sound(t, []byte(text), faults)
	return after.TotalAlloc - before.TotalAlloc
}

// Mistakes that are not reported any more cost next to nothing: nobody looks for what was
// meant by them.
func TestManyMistakesAllocations(t *testing.T) {
	allocations := func(members int) float64 {
		text := []byte(count(members*len(`"memebr00000":0,`), `"memebr%05d":0,`))
		text = append(append([]byte("{"), text...), `"flowgate":1}`...)
		return testing.AllocsPerRun(1, func() { overrides.Validate(".json", text) })
	}
	few, many := allocations(1000), allocations(5000)
	if more := (many - few) / 4000; more > 12 {
		t.Errorf("%.1f allocations for each mistake more", more)
	}
}

// A report is bounded in bytes too: a long name is not told a hundred times.
func TestLongNames(t *testing.T) {
	name := strings.Repeat("é/", hostileBytes/8)
	for _, text := range []string{
		`{"flowgate":1,"tools":{"` + name + `":{"acceptFrom":[` + fill(min(hostileBytes/4, 4000*7), `"User",`) + `"a"]}}}`,
		`{"flowgate":1,"tools":{"` + name + `":{` + count(hostileBytes/4, `"m%d":0,`) + `"mode":"off"}}}`,
		`{"flowgate":1,"tools":{"` + name + `":{"optional":true` + fill(hostileBytes/4, `,"optional":true`) + `}}}`,
	} {
		if got, most := taken(t, "", text), uint64(8<<20+100*len(text)); got > most {
			t.Errorf("it takes %d bytes, of at most %d", got, most)
		}
		_, faults := overrides.Validate("", []byte(text))
		if n := len(faults); n < 2 || faults[0].Pointer == "" || faults[n-1].Reason != flowerrors.ReasonLimit {
			t.Errorf("%d faults, the last %v", n, faults[n-1])
		}
	}
}
