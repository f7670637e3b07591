package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// memberVersion is the member that shows that an object is overrides.
const memberVersion = "flowgate"

// yamlVersion finds the same member at the root of a text in YAML.
var yamlVersion = regexp.MustCompile(`(?m)^(?:--- +)?["']?` + memberVersion + `["']?[ \t]*:`)

// holdsOverrides reports whether a file is one of overrides: by its kind where that is
// given, by its name, or by its text.
func holdsOverrides(name string, raw []byte, kind string) bool {
	if kind != "" {
		return kind == kindOverrides
	}
	if overrides.IsYAML(name, []byte("{")) { // by its name
		return true
	}
	if obj, err := rawjson.ReadObject(raw); err == nil {
		return obj.Has(memberVersion)
	}
	return overrides.IsYAML(name, raw) && yamlVersion.Match(raw)
}

// validateOverrides reports what is wrong with a file of overrides.
func (a *app) validateOverrides(name string, raw []byte, asJSON bool) (int, error) {
	err := error(nil)
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		err = errors.New("it is empty")
	case !overrides.IsYAML(name, raw):
		err = readable(raw)
	}
	if err != nil {
		return a.fail(asJSON, "validate", fmt.Errorf("cannot read %s: %w", shown(name), err))
	}
	o, faults := overrides.Validate(name, raw)
	out := validateJSON{File: name, Kind: kindOverrides}
	r := &inspect.Report{}
	for _, f := range faults {
		r.Other = append(r.Other, inspect.Finding{Fault: f.Fault})
		out.lines = append(out.lines, f.Line)
	}
	warnings, notes := warningsOf(&o), notesOn(&o)
	if asJSON {
		for _, w := range warnings {
			out.Notes = append(out.Notes, "WARNING: "+w)
		}
		out.Notes = append(out.Notes, notes...)
		return a.validated(r, out)
	}
	fmt.Fprintf(a.stdout, "file    %s\nholds   %s\n\n", clean(name, 200), out.Kind)
	for _, w := range warnings {
		fmt.Fprintf(a.stdout, "%s %s.\n\n", a.paint(red, "WARNING:"), w)
	}
	for _, note := range notes {
		fmt.Fprintf(a.stdout, "Note: %s.\n\n", note)
	}
	return a.showReport(r)
}

// warningsOf says what the switches of overrides give away.
func warningsOf(o *overrides.Overrides) []string {
	var out []string
	if o.DangerouslyLoosen {
		out = append(out, "dangerouslyLoosen is on: what this file says takes the place of what the server's code says, also where the code refuses what this lets through")
	}
	if o.DangerouslyReportUndeclared {
		out = append(out, "dangerouslyReportUndeclared is on: requests of hosts that say they never label are let through and only recorded")
	}
	return out
}

// notesOn says what the file alone cannot show.
func notesOn(o *overrides.Overrides) []string {
	var notes []string
	if o.URI != "" {
		notes = append(notes, "uri says where the server is, and so whom self means; it takes the place of the URI in the server's code without any switch")
	}
	if could := loosening(o); len(could) > 0 {
		then := "it refuses the file if one of them does"
		if o.DangerouslyLoosen {
			then = "with dangerouslyLoosen it takes them all"
		}
		notes = append(notes, "these could loosen what the server's code says, which the server judges when it starts or is given the file; "+then+": "+listed(could))
	}
	if accept := accepting(o); len(accept) > 0 {
		what := "whether these accept more than the server's code does, the server says when it starts: "
		if o.DangerouslyLoosen {
			what = "these may accept more than the server's code does, and with dangerouslyLoosen the server takes them: "
		}
		notes = append(notes, what+listed(accept))
	}
	return notes
}

// listed writes names, not too many of them.
func listed(names []string) string {
	const most = 20
	list := strings.Join(names[:min(len(names), most)], ", ")
	if n := len(names) - most; n > 0 {
		list += fmt.Sprintf(" and %d more", n)
	}
	return list
}

// entryOf names what the overrides say about one target.
func entryOf(t *overrides.Target) string { return t.Kind.String() + "[" + quoted(t.Name, 60) + "]" }

// accepting names the policies that could accept somebody whom the server's code does not.
// One that accepts nobody cannot.
func accepting(o *overrides.Overrides) []string {
	var names []string
	if len(o.Default.Tokens()) > 0 {
		names = append(names, "default")
	}
	for i := range o.Targets {
		if t := &o.Targets[i]; len(t.Policy.Tokens()) > 0 {
			names = append(names, entryOf(t))
		}
	}
	return names
}

// loosening names the modes and switches that could let through something that a server
// refuses. Policies have a note of their own, because most tighten.
func loosening(o *overrides.Overrides) []string {
	var could []string
	consider := func(path string, m policydecl.Mode) {
		if m.LooserThan(policydecl.Enforce) {
			could = append(could, path+" ("+m.String()+")")
		}
	}
	consider("mode", o.Mode)
	for i := range o.Targets {
		t := &o.Targets[i]
		consider(entryOf(t)+".mode", t.Mode)
	}
	if o.DangerouslyReportUndeclared {
		could = append(could, "dangerouslyReportUndeclared")
	}
	return could
}
