package overrides

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/flowgate-mcp/flowgate/policydecl"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// AppendJSON appends the overrides to dst as a file in JSON that [Parse] reads as the same
// overrides, so that what is in force can be kept. Targets are written by kind and name,
// tokens as they are; what says nothing is left out. dst is returned unchanged with an
// error, which is that of [Overrides.Check], or of a text over [MaxBytes].
func (o Overrides) AppendJSON(dst []byte) ([]byte, error) {
	if err := o.Check(); err != nil {
		return dst, err
	}
	w := &writer{dst: slices.Clip(dst)}
	w.dst = append(w.dst, `{"`+memberVersion+`":`+version...)
	if o.URI != "" {
		w.member(memberURI)
		w.text(o.URI)
	}
	if !o.Default.IsZero() {
		w.member(memberDefault)
		w.dst = append(w.dst, '{')
		w.tokens(o.Default)
		w.dst = append(w.dst, '}')
	}
	if o.Mode != policydecl.ModeUnset {
		w.member(memberMode)
		w.text(o.Mode.String())
	}
	w.flag(memberUndeclared, o.DangerouslyReportUndeclared)
	w.flag(memberLoosen, o.DangerouslyLoosen)
	w.targets(sorted(o.Targets))
	w.dst = append(w.dst, '}')
	if size := len(w.dst) - len(dst); size > MaxBytes {
		return dst, tooLarge(size)
	}
	return w.dst, nil
}

// MarshalJSON is [Overrides.AppendJSON] for encoding/json.
func (o Overrides) MarshalJSON() ([]byte, error) { return o.AppendJSON(nil) }

// writer writes JSON.
type writer struct{ dst []byte }

// member begins a member, after a comma where there is something before it.
func (w *writer) member(name string) {
	if w.dst[len(w.dst)-1] != '{' {
		w.dst = append(w.dst, ',')
	}
	w.text(name)
	w.dst = append(w.dst, ':')
}

// text writes a string, which Check has found to be UTF-8.
func (w *writer) text(s string) {
	w.dst, _ = jsontext.AppendQuote(w.dst, s)
}

// flag writes a switch that is on.
func (w *writer) flag(name string, on bool) {
	if on {
		w.member(name)
		w.dst = append(w.dst, "true"...)
	}
}

// tokens writes acceptFrom. An empty list is not an absent one (P4).
func (w *writer) tokens(p policydecl.Policy) {
	w.member(memberAcceptFrom)
	w.dst = append(w.dst, '[')
	for i, token := range p.Tokens() {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.text(token)
	}
	w.dst = append(w.dst, ']')
}

// targets writes sorted targets.
func (w *writer) targets(targets []Target) {
	for i, t := range targets {
		if i == 0 || targets[i-1].Kind != t.Kind {
			w.member(t.Kind.String())
			w.dst = append(w.dst, '{')
		}
		w.member(t.Name)
		w.dst = append(w.dst, '{')
		if !t.Policy.IsZero() {
			w.tokens(t.Policy)
		}
		if t.Mode != policydecl.ModeUnset {
			w.member(memberMode)
			w.text(t.Mode.String())
		}
		w.flag(memberOptional, t.Optional)
		w.dst = append(w.dst, '}')
		if i == len(targets)-1 || targets[i+1].Kind != t.Kind {
			w.dst = append(w.dst, '}')
		}
	}
}

// sorted returns a copy of targets by kind and name.
func sorted(targets []Target) []Target {
	targets = slices.Clone(targets)
	slices.SortStableFunc(targets, func(s, t Target) int {
		return cmp.Or(cmp.Compare(s.Kind, t.Kind), cmp.Compare(s.Name, t.Name))
	})
	return targets
}

// Digest returns a short text that is the same for overrides which say the same, in any
// order of targets and any order and spelling of tokens, and different for others:
// "sha256:" and 16 hexadecimal digits, as [policydecl.Policy.Digest]. The zero overrides
// have one too. It is for comparing what servers have in force, and for log lines; it is
// too short to be proof against somebody who looks for two overrides with one digest.
func (o Overrides) Digest() string {
	var b strings.Builder
	line := func(parts ...string) {
		for _, part := range parts {
			b.WriteString(strconv.Quote(part) + " ")
		}
		b.WriteByte('\n')
	}
	uri := o.URI
	if canonical, err := resourcematch.Canonical(uri); err == nil {
		uri = canonical
	}
	line(memberURI, uri)
	line(memberDefault, o.Default.Digest())
	line(memberMode, o.Mode.String())
	line(memberUndeclared, strconv.FormatBool(o.DangerouslyReportUndeclared))
	line(memberLoosen, strconv.FormatBool(o.DangerouslyLoosen))
	for _, t := range sorted(o.Targets) {
		line(t.Kind.String(), t.Name, t.Policy.Digest(), t.Mode.String(), strconv.FormatBool(t.Optional))
	}
	return policydecl.DigestOf(b.String())
}
