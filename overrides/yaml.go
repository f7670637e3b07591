package overrides

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
)

// yamlReader turns the nodes of a YAML document into ours. The YAML package is asked for
// nodes only: what it would make of them as Go values, aliases and merge keys included,
// never happens.
type yamlReader struct {
	*report
	lines int
	marks []mark // where there are exclamation marks
}

// readYAML returns the value of a YAML stream of one document, or nil if it is none.
func (r *report) readYAML(data []byte) *node {
	lines := bytes.Split(data, []byte("\n"))
	if !r.unhidden(data) || !r.undirected(lines) {
		return nil
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	err := decode(d, &doc)
	switch {
	case errors.Is(err, io.EOF):
		r.add(nil, 0, "P6", *isEmpty())
		return nil
	case err != nil:
		r.notYAML(data, err)
		return nil
	}
	y := &yamlReader{r, len(lines), marksIn(lines)}
	root := &doc
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		root = doc.Content[0]
	}
	n := y.value(root, nil, 0)
	switch err := decode(d, &next); {
	case err == nil:
		r.broken(RuleYAML, min(next.Line, y.lines), "the file holds more than one document", "keep one document to a file")
	case !errors.Is(err, io.EOF):
		r.notYAML(data, err)
	}
	return n
}

// decode reads the next document. A panic of the parser is a text that it cannot read.
func decode(d *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("yaml: %v", v)
		}
	}()
	return d.Decode(n)
}

// yamlError takes the line out of an error of the parser.
var yamlError = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?`)

// notYAML reports a text that the parser refused with err.
func (r *report) notYAML(data []byte, err error) {
	message := err.Error()
	line := 0
	if m := yamlError.FindStringSubmatch(message); m != nil {
		message = message[len(m[0]):]
		line, _ = strconv.Atoi(m[1]) // 0 if there is none
		line = min(line, lineAt(data, len(data)))
	}
	hint := "correct it, or end the file's name in .json if it is JSON"
	if strings.Contains(message, "found character that cannot start any token") {
		hint = `put in quotes what starts with one of % @ and the like, and spaces in place of a tab`
	}
	r.broken(RuleYAML, line, "not valid YAML, here or just below: "+message, hint)
}

// unhidden reports characters that make a file say something else than it seems to. Some
// end a line for the parser and not for an editor, so that what looks like a comment is
// none; the marks of direction show text in another order than it is read, and other
// characters of formatting, such as the space of no width, make two names look like one.
func (r *report) unhidden(data []byte) bool {
	ok := true
	for i, c := range string(data) {
		switch {
		case c == '\u0085', c == '\u2028', c == '\u2029', unicode.Is(unicode.Cf, c):
		case c == '\r' && !bytes.HasPrefix(data[i:], []byte("\r\n")):
		default:
			continue
		}
		ok = false
		r.add(nil, lineAt(data, i), RuleYAML, flowerrors.ConfigError{
			Value: string(c), Reason: flowerrors.ReasonType,
			Detail: "a character that hides what the file says",
			Hint:   `remove it, or write it as an escape such as "\u2028" in double quotes; end lines with LF or CR LF`,
		})
		if r.more {
			break
		}
	}
	return ok
}

// undirected reports directives. %YAML 1.1 says that off is a boolean, and is the only
// version that the parser takes; %TAG is for tags.
func (r *report) undirected(lines [][]byte) bool {
	for i, line := range lines {
		if bytes.HasPrefix(line, []byte("%")) {
			r.add(nil, i+1, RuleYAML, flowerrors.ConfigError{
				Value: string(bytes.TrimSpace(line)), Reason: flowerrors.ReasonUnsupported, Detail: "directives are not read", Hint: "remove it",
			})
			return false
		}
	}
	return true
}

// value reads a node, which lies at p below depth containers.
func (y *yamlReader) value(n *yaml.Node, p *place.Place, depth int) *node {
	if !y.allowed(n, p) {
		return &node{kind: unreadable, line: y.line(n)}
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return scalar(n, y.line(n))
	case yaml.SequenceNode, yaml.MappingNode:
		if depth == maxDepth {
			return y.tooDeep(p, y.line(n))
		}
		if n.Kind == yaml.MappingNode {
			return y.mapping(n, p, depth+1)
		}
		out := &node{kind: array, line: y.line(n)}
		for i, e := range n.Content {
			out.list = append(out.list, y.value(e, p.Element(i), depth+1))
		}
		return out
	}
	y.add(p, y.line(n), RuleYAML, flowerrors.ConfigError{Reason: flowerrors.ReasonType, Detail: "no value of JSON"})
	return &node{kind: unreadable, line: y.line(n)}
}

// line returns the line of a node. A value that is left out at the end of the file has one
// that the file does not have.
func (y *yamlReader) line(n *yaml.Node) int { return min(n.Line, y.lines) }

// mapping reads the members of a mapping.
func (y *yamlReader) mapping(n *yaml.Node, p *place.Place, depth int) *node {
	out := &node{kind: object, line: y.line(n)}
	names := seen{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		name, ok := y.name(key, p)
		if !ok {
			continue
		}
		twice := y.twice(names, p, name, y.line(key))
		v := y.value(n.Content[i+1], p.Member(name), depth)
		if !twice {
			out.members = append(out.members, member{name, y.line(key), v})
		}
	}
	return out
}

// name reads the key of a mapping.
func (y *yamlReader) name(key *yaml.Node, p *place.Place) (string, bool) {
	at := p
	if key.Kind == yaml.ScalarNode {
		at = p.Member(key.Value)
	}
	if !y.allowed(key, at) {
		return "", false
	}
	e := flowerrors.ConfigError{Value: key.Value, Reason: flowerrors.ReasonType}
	switch {
	case key.Kind != yaml.ScalarNode:
		e.Detail, e.Hint = "a name is a string", "write a name, a colon and a value"
	case key.Tag == mergeTag && key.Style == 0:
		e.Reason, e.Detail, e.Hint = flowerrors.ReasonUnsupported, "merge keys are not read", "write out what is merged"
	case isUnsure(key):
		e.Detail, e.Hint = "readers of YAML differ in whether this name is a string", "put it in quotes"
	default:
		return key.Value, true
	}
	y.add(at, y.line(key), RuleYAML, e)
	return "", false
}

// allowed reports anchors, aliases and tags, which stand for something that is not written
// where it counts, and have no counterpart in JSON.
func (y *yamlReader) allowed(n *yaml.Node, p *place.Place) bool {
	ok := true
	fault := func(value, detail, hint string) {
		ok = false
		y.add(p, y.line(n), RuleYAML, flowerrors.ConfigError{Value: value, Reason: flowerrors.ReasonUnsupported, Detail: detail, Hint: hint})
	}
	if n.Kind == yaml.AliasNode {
		fault("*"+n.Value, "aliases are not read", "write out what it stands for")
		return ok
	}
	if n.Anchor != "" {
		fault("&"+n.Anchor, "anchors are not read", "remove it")
	}
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		fault(n.Tag, "tags are not read", "remove it, and put a string in quotes")
	case n.Kind == yaml.ScalarNode && y.isMarked(n):
		fault("!", "tags are not read", "remove it, and put a string in quotes")
	}
	return ok
}

// isMarked reports whether a node begins with an exclamation mark, as written. The parser
// hides the tag "!" in no other way.
func (y *yamlReader) isMarked(n *yaml.Node) bool {
	_, found := slices.BinarySearchFunc(y.marks, mark{n.Line, n.Column}, mark.compare)
	return found
}

// mark is where a character is, as the parser counts: both from 1, the column in characters.
type mark struct{ line, column int }

func (m mark) compare(other mark) int {
	return cmp.Or(cmp.Compare(m.line, other.line), cmp.Compare(m.column, other.column))
}

// marksIn finds all exclamation marks of a text, in order.
func marksIn(lines [][]byte) []mark {
	var marks []mark
	for i, line := range lines {
		column := 1
		for {
			at := bytes.IndexByte(line, '!')
			if at < 0 {
				break
			}
			column += utf8.RuneCount(line[:at])
			marks = append(marks, mark{i + 1, column})
			line = line[at+1:]
			column++
		}
	}
	return marks
}
