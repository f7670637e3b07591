package overrides

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/flowgate-mcp/flowgate/internal/place"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// jsonReader reads a file in JSON. Names that occur twice are let through by the
// decoder, because all of them are to be reported.
type jsonReader struct {
	*report
	d    *jsontext.Decoder
	data []byte
	from int // up to where lines are counted
	line int
}

// readJSON returns the value of a JSON text, or nil if it is none.
func (r *report) readJSON(data []byte) *node {
	j := &jsonReader{
		report: r, data: data, line: 1,
		d: jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true)),
	}
	n, err := j.value(nil, 0)
	if err == nil {
		if _, err = j.d.ReadToken(); errors.Is(err, io.EOF) {
			return n
		}
		r.broken(policydecl.RuleJSON, lineAt(data, int(j.d.InputOffset())), "something follows the JSON value", "remove it")
		return nil
	}
	detail, line := "not valid JSON: it ends too early", lineAt(data, len(data))
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) {
		line = lineAt(data, int(syntax.ByteOffset))
		detail = "not valid JSON, at byte " + strconv.FormatInt(syntax.ByteOffset, 10)
	}
	r.broken(policydecl.RuleJSON, line, detail, "correct it, or end the file's name in .yaml if it is YAML")
	return nil
}

// at returns the line of what was read last. No token but a string spans bytes that
// could be line ends, and those are escaped in it.
func (j *jsonReader) at() int {
	to := int(j.d.InputOffset())
	j.line += bytes.Count(j.data[j.from:to], []byte("\n"))
	j.from = to
	return j.line
}

// value reads the next value, which lies at p below depth containers.
func (j *jsonReader) value(p *place.Place, depth int) (*node, error) {
	tok, err := j.d.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &node{line: j.at()}
	switch tok.Kind() {
	case jsontext.KindNull:
		n.kind = null
	case jsontext.KindTrue, jsontext.KindFalse:
		n.kind, n.text = boolean, strconv.FormatBool(tok.Bool())
	case jsontext.KindString:
		n.kind, n.text = text, tok.String()
	case jsontext.KindNumber:
		n.kind, n.text = number, tok.String()
	default:
		if depth == maxDepth {
			return j.tooDeep(p, n.line), j.skip()
		}
		if tok.Kind() == jsontext.KindBeginArray {
			return n, j.array(n, p, depth+1)
		}
		return n, j.object(n, p, depth+1)
	}
	return n, nil
}

// skip passes over the rest of the container that was opened last.
func (j *jsonReader) skip() error {
	for open := j.d.StackDepth(); j.d.StackDepth() >= open; {
		if _, err := j.d.ReadToken(); err != nil {
			return err
		}
	}
	return nil
}

// array reads the rest of an array.
func (j *jsonReader) array(n *node, p *place.Place, depth int) error {
	n.kind = array
	for j.d.PeekKind() != jsontext.KindEndArray {
		v, err := j.value(p.Element(len(n.list)), depth)
		if err != nil {
			return err
		}
		n.list = append(n.list, v)
	}
	_, err := j.d.ReadToken()
	return err
}

// object reads the rest of an object.
func (j *jsonReader) object(n *node, p *place.Place, depth int) error {
	n.kind = object
	names := seen{}
	for j.d.PeekKind() != jsontext.KindEndObject {
		tok, err := j.d.ReadToken()
		if err != nil {
			return err
		}
		m := member{name: tok.String(), line: j.at()}
		twice := j.twice(names, p, m.name, m.line)
		if m.value, err = j.value(p.Member(m.name), depth); err != nil {
			return err
		}
		if !twice {
			n.members = append(n.members, m)
		}
	}
	_, err := j.d.ReadToken()
	return err
}
