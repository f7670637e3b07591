package overrides_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/flowgate-mcp/flowgate/overrides"
)

// FuzzNotations compares the two readers on one document: whatever JSON text there is, the
// same in YAML gives the same overrides or the same mistakes at the same places.
func FuzzNotations(f *testing.F) {
	f.Add([]byte(everything["o.json"]))
	for _, tt := range faultCases {
		if len(tt.text) < 4<<10 { // a larger seed takes all the time there is
			f.Add([]byte(tt.text))
		}
	}
	for _, row := range documents {
		f.Add([]byte(row.text))
	}
	f.Fuzz(compareNotations)
}

func compareNotations(t *testing.T, text []byte) {
	asYAML, ok := toYAML(text)
	if !ok || len(asYAML) > overrides.MaxBytes {
		return
	}
	one, faults := overrides.Validate("o.json", text)
	other, otherFaults := overrides.Validate("o.yaml", asYAML)
	if got, want := unordered(otherFaults), unordered(faults); !slices.Equal(got, want) {
		t.Fatalf("JSON %s\n%q\nYAML %s\n%q", text, want, asYAML, got)
	}
	if len(faults) > 0 {
		return
	}
	a, errA := one.AppendJSON(nil)
	b, errB := other.AppendJSON(nil)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Fatalf("JSON %s (%v)\nYAML %s (%v)", a, errA, b, errB)
	}
	keeps(t, one)
}

// unordered is what is told of mistakes without the lines, which differ. The last of very
// many stands for those that were left out, and which those are depends on the lines.
func unordered(faults []overrides.Fault) []string {
	if len(faults) == overrides.MaxFaults {
		return nil
	}
	var out []string
	for _, f := range faults {
		out = append(out, fmt.Sprint(f.Pointer, f.Path, f.Reason, f.Value, f.Limit, f.Rule))
	}
	slices.Sort(out)
	return out
}

func TestNotationsAgree(t *testing.T) {
	if text, ok := toYAML([]byte(`{"a":[{"b":null,"c":{}},[],"é\u2028"],"":true}`)); !ok || string(text) !=
		"\n? \"a\"\n:\n -\n  ? \"b\"\n  : null\n  ? \"c\"\n  : {}\n - []\n - \"\\U000000e9\\U00002028\"\n? \"\"\n: true" {
		t.Fatalf("%s", text)
	}
	compareNotations(t, []byte(everything["o.json"]))
	for _, row := range documents {
		compareNotations(t, []byte(row.text))
	}
	for _, row := range faultCases {
		compareNotations(t, []byte(row.text))
	}
}

// toYAML writes a JSON text as block YAML, which shares nothing with JSON but the
// scalars, in the plainest way. What is no JSON it does not take.
func toYAML(text []byte) ([]byte, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	var b bytes.Buffer
	if !yamlValue(&b, d, "") {
		return nil, false
	}
	_, err := d.ReadToken()
	return b.Bytes(), err != nil && len(bytes.Trim(text[d.InputOffset():], " \t\r\n")) == 0 && len(text) <= overrides.MaxBytes
}

func yamlValue(b *bytes.Buffer, d *jsontext.Decoder, indent string) bool {
	tok, err := d.ReadToken()
	if err != nil {
		return false
	}
	switch kind := tok.Kind(); kind {
	case '{', '[':
		end := kind + 2 // the closing bracket
		if d.PeekKind() == end {
			b.WriteString(string([]byte{byte(kind), byte(end)}))
		}
		for d.PeekKind() != end {
			b.WriteString("\n" + indent)
			if kind == '[' {
				b.WriteString("- ")
			} else {
				b.WriteString("? ")
				if !yamlValue(b, d, indent+" ") {
					return false
				}
				b.WriteString("\n" + indent + ": ")
			}
			trim := b.Len() - 1
			if !yamlValue(b, d, indent+" ") {
				return false
			}
			if b.Bytes()[trim+1] == '\n' { // a block begins on its own line
				rest := slices.Clone(b.Bytes()[trim+1:])
				b.Truncate(trim)
				b.Write(rest)
			}
		}
		_, err = d.ReadToken()
		return err == nil
	case '"':
		b.WriteByte('"')
		for _, r := range tok.String() {
			if ' ' <= r && r <= '~' && r != '"' && r != '\\' {
				b.WriteRune(r)
			} else {
				fmt.Fprintf(b, `\U%08x`, r)
			}
		}
		b.WriteByte('"')
	default:
		b.WriteString(tok.String())
	}
	return true
}

// The example of the documentation is read, and says what the documentation says.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var example strings.Builder
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "//\t"); ok {
			example.WriteString(rest)
		}
	}
	o, err := overrides.Parse("example.yaml", []byte(example.String()))
	if err != nil || len(o.Targets) != 6 || o.URI != "https://records.example/mcp" {
		t.Fatalf("%v\n%s", err, example.String())
	}
	for _, member := range rootMembers(t) {
		if !strings.Contains(example.String(), "\n"+member+":") && !strings.HasPrefix(example.String(), member+":") {
			t.Errorf("the example does not show %s", member)
		}
	}
}
