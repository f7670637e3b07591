package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/flowgate-mcp/flowgate/internal/plain"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// colourful reports whether w takes colours: it is a terminal, and the environment does
// not ask for none.
func colourful(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// output is a writer that remembers its first error, so that nobody else has to.
type output struct {
	to  io.Writer
	err error
}

// Write writes nothing any more after an error.
func (o *output) Write(p []byte) (n int, err error) {
	if o.err == nil {
		n, o.err = o.to.Write(p)
	}
	return n, o.err
}

// The colours that are used, as codes of SGR.
const (
	red   = "31"
	green = "32"
	bold  = "1"
)

// paint colours a text that is fit for the terminal already.
func (a *app) paint(code, text string) string {
	if !a.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// clean makes a text from outside fit for the terminal (M3), of about max bytes.
func clean(s string, max int) string { return plain.Escape(s, max) }

// quoted is clean in quotes.
func quoted(s string, max int) string { return plain.Quote(s, max) }

// tokens shows the tokens of a policy.
func tokens(p policydecl.Policy) string {
	list := p.Tokens()
	if len(list) == 0 {
		return "(accepts nobody)"
	}
	return clean(strings.Join(list, ", "), 120)
}

// table writes rows in columns. A cell must be fit for the terminal; colours may only
// be in the last one, because they would count as width.
func table(w io.Writer, rows [][]string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	_ = tw.Flush() // as with every print: the output remembers
}

// plural counts things for people.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// printJSON writes v for machines, in printable ASCII, so that it is harmless on a
// terminal too (M3).
func (a *app) printJSON(v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	fmt.Fprint(a.stdout, asciiJSON(b.String()))
	return nil
}

// asciiJSON escapes what is not printable ASCII in a JSON text. Outside strings a JSON
// text has no such characters but line ends.
func asciiJSON(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf && r != 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// findingJSON is one finding for machines.
type findingJSON struct {
	Where   string `json:"where,omitempty"` // the request whose answer it is about, if it is about no declaration
	Pointer string `json:"pointer"`         // RFC 6901, from the root of the declaration, answer or file
	Rule    string `json:"rule"`            // as docs/rules.md numbers them, or JSON, MCP, JSON Schema 2020-12
	Reason  string `json:"reason"`          // of a closed list, see flowerrors.Reason
	Value   string `json:"value,omitempty"` // the offending value, cut to 256 bytes
	Limit   int    `json:"limit,omitempty"` // where reason is over-limit
	Text    string `json:"text"`            // for people; its wording may change
}

// maxJSONValue is how much of an offending value is shown to machines.
const maxJSONValue = 256

func toJSON(where string, f policydecl.Fault) findingJSON {
	value := f.Value
	if len(value) > maxJSONValue {
		value = strings.ToValidUTF8(value[:maxJSONValue], "")
	}
	return findingJSON{where, f.Pointer, string(f.Rule), string(f.Reason), value, f.Limit, f.Error()}
}

func faultsJSON(faults []policydecl.Fault) []findingJSON {
	out := make([]findingJSON, 0, len(faults))
	for _, f := range faults {
		out = append(out, toJSON("", f))
	}
	return out
}

// policyJSON is a policy for machines: the tokens and who says so.
type policyJSON struct {
	AcceptFrom []string `json:"acceptFrom"`
	Source     string   `json:"source,omitempty"` // own, server (its default) or draft (the draft's default)
}

func policyOf(p policydecl.Policy, source string) policyJSON {
	list := p.Tokens()
	if list == nil {
		list = []string{}
	}
	return policyJSON{list, source}
}
