package overrides

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// MaxBytes is how large an overrides file may be, in bytes.
const MaxBytes = 1 << 20

// version is the version of the format that is read and written.
const version = "1"

// Parse reads overrides from the text of a file, in the format that the package's
// documentation describes. name is the file's name, of which the extension alone counts:
// .json is JSON, .yaml and .yml are YAML. With any other, a text that begins with a brace
// is JSON. Both notations say the same: equal documents give equal overrides.
//
// It is strict, and reports every mistake at once (P6): the error joins a
// [*flowerrors.ConfigError] for each, at most [MaxFaults], in the order of the file. Their
// paths are those of policydecl, such as tools["export"].acceptFrom[1], and their Detail
// ends in the line where it is known. With an error the overrides are zero.
//
// Targets come sorted by kind and name. Parse keeps nothing of data, and is safe for
// concurrent use.
func Parse(name string, data []byte) (Overrides, error) {
	o, faults := Validate(name, data)
	return o, join(faults)
}

// Validate is [Parse] for programs that show where a mistake is: each comes with its line,
// a JSON Pointer and the rule that it breaks. The overrides are zero if there is any.
func Validate(name string, data []byte) (Overrides, []Fault) {
	r := &report{}
	if !r.fit(data) {
		return Overrides{}, r.done()
	}
	var root *node
	if IsYAML(name, data) {
		root = r.readYAML(data)
	} else {
		root = r.readJSON(data)
	}
	if root == nil {
		return Overrides{}, r.done()
	}
	b := &builder{report: r}
	b.root(root)
	b.judge(root)
	if faults := r.done(); len(faults) > 0 {
		return Overrides{}, faults
	}
	return b.o, nil
}

// IsYAML reports whether [Parse] takes a file of that name and text for YAML.
func IsYAML(name string, data []byte) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json":
		return false
	case ".yaml", ".yml":
		return true
	}
	return !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{"))
}

// UnmarshalJSON reads what [Parse] reads from a file in JSON. With an error o stays as it
// was.
func (o *Overrides) UnmarshalJSON(raw []byte) error {
	read, err := Parse(".json", raw)
	if err == nil {
		*o = read
	}
	return err
}

// The members of the format.
const (
	memberVersion    = "flowgate"
	memberURI        = "uri"
	memberDefault    = "default"
	memberMode       = "mode"
	memberUndeclared = "dangerouslyReportUndeclared"
	memberLoosen     = "dangerouslyLoosen"
	memberAcceptFrom = "acceptFrom"
	memberOptional   = "optional"
)

// sections are the kinds of target in the order in which they are written; the names of
// their members are those of policydecl.
var sections = [...]policydecl.TargetKind{
	policydecl.Tool, policydecl.Prompt, policydecl.Resource, policydecl.Template, policydecl.Prefix,
}

// sectionOf returns the kind of target that a member of the root is about, or 0.
func sectionOf(name string) policydecl.TargetKind {
	for _, k := range sections {
		if name == k.String() {
			return k
		}
	}
	return 0
}

func isSection(name string) bool { return sectionOf(name) != 0 }

// mayLack reports whether a server can lack a target of that kind: of the others, a
// pattern governs what it matches, whatever is registered.
func mayLack(k policydecl.TargetKind) bool { return k == policydecl.Tool || k == policydecl.Prompt }
