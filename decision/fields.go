package decision

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// record reads the values. What it returns counts only if l.err is nil then.
func (l *members) record() Record {
	r := Record{
		Time: l.time(), Server: l.text(KeyServer),
		Method: l.text(KeyMethod), Target: l.text(KeyTarget), Registered: l.flag(KeyRegistered),
		Verdict: l.verdict(), Mode: l.mode(), Reason: Reason(l.text(KeyReason)), Detail: l.text(KeyDetail),
		FlowOrigin: l.text(KeyFlowOrigin), More: int(l.number(KeyMore, 63)),
		AcceptFrom: l.list(KeyAcceptFrom, MaxTokens+1, unquote), Policy: l.text(KeyPolicy), Settings: l.text(KeySettings),
		RequestID: l.text(KeyID), Session: l.text(KeySession), Protocol: l.text(KeyProtocol), Client: l.text(KeyClient),
		Took: time.Duration(l.number(KeyTook, 63)), Suppressed: l.number(KeySuppressed, 64), Lost: l.number(KeyLost, 64),
	}
	r.Judged, r.Class = l.class()
	for _, s := range l.list(KeyRejected, MaxRejected, anyString) {
		c, ok := readContributor(s)
		if !ok {
			l.wrong(KeyRejected)
		}
		r.Rejected = append(r.Rejected, c)
	}
	if (l.value(KeyRejected) != nil) != (r.Verdict == Refused) || r.More > 0 && r.Verdict != Refused {
		l.wrong(KeyRejected)
	}
	if (l.value(KeyAcceptFrom) != nil) != (r.Policy != "") {
		l.wrong(KeyAcceptFrom)
	}
	if len(r.AcceptFrom) > MaxTokens && r.AcceptFrom[MaxTokens] != MoreTokens {
		l.wrong(KeyAcceptFrom)
	}
	return r
}

// wrong notes that the value of a member is not as a [Writer] writes it.
func (l *members) wrong(name string) {
	if l.err == nil {
		l.err = malformed("what it gives for " + name)
	}
}

// text reads a string, "" if the member is not there. A member that is left out where it
// is empty is not there empty.
func (l *members) text(name string) string {
	raw := l.value(name)
	if raw == nil {
		return ""
	}
	text, ok := unquote(raw)
	if !ok || text == "" && !slices.Contains(required[:], name) {
		l.wrong(name)
	}
	return text
}

// unquote reads the JSON of a string that a record can hold.
func unquote(raw []byte) (string, bool) {
	s, ok := anyString(raw)
	return s, ok && isShown(s)
}

func anyString(raw []byte) (string, bool) {
	if raw[0] != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err == nil
}

func (l *members) flag(name string) bool {
	raw := l.value(name)
	if raw != nil && string(raw) != "true" {
		l.wrong(name)
	}
	return raw != nil
}

// number reads a whole number from 1 that fits in so many bits, 0 if the member is not
// there.
func (l *members) number(name string, bits int) uint64 {
	raw := l.value(name)
	if raw == nil {
		return 0
	}
	n, err := strconv.ParseUint(string(raw), 10, bits)
	if err != nil || n == 0 {
		l.wrong(name)
	}
	return n
}

// list reads an array of what read takes, nil if the member is not there or null (P4).
func (l *members) list(name string, limit int, read func([]byte) (string, bool)) []string {
	raw := l.value(name)
	if raw == nil || string(raw) == "null" {
		return nil
	}
	list := []string{}
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if open, err := d.ReadToken(); err != nil || open.Kind() != '[' {
		l.wrong(name)
		return nil
	}
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil || len(list) == limit {
			l.wrong(name)
			return nil
		}
		text, ok := read(v)
		if !ok {
			l.wrong(name)
		}
		list = append(list, text)
	}
	return list
}

func (l *members) time() time.Time {
	raw := l.value(keyTime)
	if raw == nil {
		return time.Time{}
	}
	text, ok := unquote(raw)
	t, err := time.Parse(time.RFC3339Nano, text)
	if !ok || err != nil || t.IsZero() {
		l.wrong(keyTime)
	}
	return t
}

func (l *members) verdict() Verdict {
	i := slices.Index(verdictNames[:], l.text(KeyVerdict))
	if i < 0 {
		l.wrong(KeyVerdict)
	}
	return Verdict(max(i, 0))
}

func (l *members) mode() policydecl.Mode {
	m, err := policydecl.ParseMode(l.text(KeyMode))
	if err != nil {
		l.wrong(KeyMode)
	}
	return m
}

// class reads how the label was read (L9), and whether one was looked for.
func (l *members) class() (judged bool, class policydecl.Class) {
	text := l.text(KeyLabel)
	for c := policydecl.ClassAbsent; c <= policydecl.ClassOK; c++ {
		if text == c.String() {
			return true, c
		}
	}
	if text != "" {
		l.wrong(KeyLabel)
	}
	return false, policydecl.ClassAbsent
}
