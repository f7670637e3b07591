package decision

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrNotDecision is what [Parse] returns, wrapped or not, for a line that is no decision
// record: no JSON object, or one without the six members that every record has (method,
// target, verdict, mode, reason and label). A log may hold any number of them.
var ErrNotDecision = errors.New("not a decision record")

// ErrMalformed is what [Parse] returns, wrapped in an error that says why, for a line that
// is a decision record but not as a [Writer] writes one, or that begins like one and
// cannot be read to its end, such as one that was cut off.
var ErrMalformed = errors.New("malformed decision record")

// maxDepth is how deep a member that Parse does not know may be nested.
const maxDepth = 16

// required are the members that every record has.
var required = [...]string{KeyMethod, KeyTarget, KeyVerdict, KeyMode, KeyReason, KeyLabel}

// Parse reads a line that a [Writer], or [log/slog]'s JSON handler, wrote for a record.
// The end of the line may be there or not. It keeps nothing of line.
//
// What it returns is the record that was written, but for what [Record.Attrs] leaves out,
// cuts or escapes: a Mode of nothing is enforce, Class is there only if Judged, the list
// of rejected contributors only in a refusal, AcceptFrom only with the policy's digest,
// and Time has the zone's offset without its name. All texts are then as [Shown] returns
// them (M3). Writing the result again gives the same line.
//
// Members that it does not know are ignored, and so are level and msg, which follow from
// the rest. Whatever else is not as it was written is an error that wraps
// [ErrNotDecision] or [ErrMalformed]: texts that are not printable ASCII or are too long,
// values of other types or outside their set, a name that occurs twice, a line of
// [MaxLine] bytes or more, what is not UTF-8 or is nested deeply. Errors quote nothing of
// the line. Parse never panics.
func Parse(line []byte) (Record, error) {
	if len(line) >= MaxLine {
		return Record{}, errLong
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return Record{}, ErrNotDecision
	}
	l, err := readLine(line)
	if err != nil {
		return Record{}, err
	}
	for _, key := range required {
		if l.value(key) == nil {
			return Record{}, ErrNotDecision
		}
	}
	switch {
	case l.duplicate:
		return Record{}, malformed("a name occurs twice")
	case l.deep:
		return Record{}, malformed("it is nested too deeply")
	case !utf8.Valid(line):
		return Record{}, malformed("it is not UTF-8")
	}
	r := l.record()
	if l.err != nil {
		return Record{}, l.err
	}
	return r, nil
}

func malformed(why string) error { return fmt.Errorf("%w: %s", ErrMalformed, why) }

var (
	errNotJSON = malformed("it is not JSON")
	errLong    = malformed("the line is too long")
)

// members is a line as it was read.
type members struct {
	values          [len(known)][]byte // JSON of the members that are known, nil for those that are not there
	duplicate, deep bool
	err             error // the first mistake that was found in a value
}

// keyTime is the member that slog writes for the time.
const keyTime = slog.TimeKey

// known are the members that a record is read from.
var known = [...]string{
	keyTime, KeyMethod, KeyTarget, KeyVerdict, KeyMode, KeyReason, KeyLabel, KeyRegistered, KeyFlowOrigin, KeyRejected,
	KeyMore, KeyAcceptFrom, KeyPolicy, KeySettings, KeyServer, KeyID, KeySession, KeyProtocol, KeyClient, KeyDetail,
	KeyTook, KeySuppressed, KeyLost,
}

// indexOf is where a name is in known, or -1.
func indexOf(name string) int { return slices.Index(known[:], name) }

// value is the JSON of a member, nil if it is not there.
func (l *members) value(name string) []byte { return l.values[indexOf(name)] }

// readLine splits a line. It is lenient about what does not keep it from telling whether
// the line is a record, since only then it matters.
func readLine(line []byte) (*members, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return nil, errNotJSON
	}
	l := &members{}
	var others map[string]bool
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return nil, errNotJSON
		}
		name := token.String()
		from := d.InputOffset()
		if err := l.skip(d); err != nil {
			return nil, errNotJSON
		}
		if i := indexOf(name); i >= 0 {
			l.duplicate = l.duplicate || l.values[i] != nil
			l.values[i] = bytes.TrimLeft(line[from:d.InputOffset()], ": \t\r\n")
			continue
		}
		if others == nil {
			others = make(map[string]bool)
		}
		l.duplicate = l.duplicate || others[name]
		others[name] = true
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, errNotJSON
	}
	if len(line[d.InputOffset():]) > 0 {
		return nil, malformed("something follows it")
	}
	return l, nil
}

// skip reads one value and notes whether it is deep.
func (l *members) skip(d *jsontext.Decoder) error {
	for outside := d.StackDepth(); ; {
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		l.deep = l.deep || d.StackDepth() > maxDepth
		if d.StackDepth() == outside {
			return nil
		}
	}
}
