package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Bounds on what one server can make an inspection do.
const (
	// MaxPages is how many answers one list may take.
	MaxPages = 1000
	// MaxEntries is how many declarations are looked at, all lists together.
	MaxEntries = 10_000
	// MaxBytes is how large all answers together may be; their text is kept.
	MaxBytes = 64 << 20
	// MaxFaults is how many faults of one declaration are kept; see Entry.More. It is as
	// many as a validator reports: where there are more, its last one says so.
	MaxFaults = policydecl.MaxFaults
	// MaxAllFaults is how many faults of all declarations together are kept.
	MaxAllFaults = 10_000
	// MaxOther is how many faults outside the declarations are kept.
	MaxOther = 100
)

// Caller sends one request and returns its result. params may be nil. An error with
// which the server itself answered must be an [AnswerError], or wrap one; after any
// other the server counts as lost.
type Caller func(ctx context.Context, method string, params map[string]any) (json.RawMessage, error)

// AnswerError is an error with which a server answered a request.
type AnswerError interface {
	error
	// JSONRPCCode returns the code of the error object.
	JSONRPCCode() int64
}

// methodNotFound is JSON-RPC's code for a request that the server does not know.
const methodNotFound = -32601

// Run lists everything that a server announces and validates it. hello is the result
// of initialize or server/discover.
//
// The error says why the inspection ended early: the server was lost, or ctx ended.
// The report then holds what was seen until then. What a server answers wrongly is no
// error but a finding.
func Run(ctx context.Context, call Caller, hello []byte) (*Report, error) {
	return run(ctx, call, hello, kinds)
}

// RunTools is [Run] for the tools alone.
func RunTools(ctx context.Context, call Caller, hello []byte) (*Report, error) {
	return run(ctx, call, hello, []kind{of(policydecl.Tool)})
}

func run(ctx context.Context, call Caller, hello []byte, kinds []kind) (*Report, error) {
	r := &Report{}
	var faults []policydecl.Fault
	r.Server, faults = ReadServer(hello)
	r.note("initialize", faults...)
	for _, k := range kinds {
		if !r.Server.lists[k.capability] {
			continue
		}
		if err := r.list(ctx, call, k); err != nil {
			return r, err
		}
	}
	r.finish()
	return r, nil
}

// note adds findings that are about no entry, and counts those that are too many.
func (r *Report) note(where string, faults ...policydecl.Fault) {
	for _, f := range faults {
		if len(r.Other) == MaxOther {
			r.More++
			continue
		}
		r.Other = append(r.Other, Finding{where, f})
	}
}

// list fetches every page of one list.
func (r *Report) list(ctx context.Context, call Caller, k kind) error {
	seen := map[string]bool{}
	var params map[string]any
	for page := 1; ; page++ {
		raw, err := call(ctx, k.method, params)
		if err != nil {
			return r.listFailed(k, page, err)
		}
		if r.size += len(raw); r.size > MaxBytes {
			r.note(k.method, fault("", policydecl.RuleMCP, &flowerrors.ConfigError{
				Reason: flowerrors.ReasonLimit, Limit: MaxBytes, Detail: "the lists are too large: the rest was not looked at",
			}))
			return nil
		}
		next, more := r.addPage(ctx, k, raw)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !more:
			return nil
		case seen[next]:
			r.note(k.method, fault("/nextCursor", policydecl.RuleMCP, &flowerrors.ConfigError{
				Value: next, Reason: flowerrors.ReasonDuplicate,
				Detail: "the cursor was given before, so the list never ends", Hint: "leave nextCursor out of the last page",
			}))
			return nil
		case page == MaxPages:
			r.note(k.method, fault("/nextCursor", policydecl.RuleMCP, &flowerrors.ConfigError{
				Value: next, Reason: flowerrors.ReasonLimit, Limit: MaxPages,
				Detail: "still another page: the rest of the list was not looked at", Hint: "list more on one page",
			}))
			return nil
		}
		seen[next] = true
		params = map[string]any{"cursor": next}
	}
}

// listFailed notes what a server answered instead of a list, and returns the error
// with which it was lost.
func (r *Report) listFailed(k kind, page int, err error) error {
	var answer AnswerError
	if !errors.As(err, &answer) {
		return fmt.Errorf("%s: %w", k.method, err)
	}
	// A server that has resources but no templates may well not know the request.
	if k.target == policydecl.Template && page == 1 && answer.JSONRPCCode() == methodNotFound {
		return nil
	}
	r.note(k.method, fault("", policydecl.RuleMCP, &flowerrors.ConfigError{
		Value: answer.Error(), Reason: flowerrors.ReasonUnsupported,
		Detail: "the server announces " + k.capability + " but does not list them", Hint: "answer " + k.method + ", or do not announce the capability",
	}))
	return nil
}

// AddList adds one answer to a list request, as if it had come from a server. The error
// is that of a context that ended before all of it was looked at.
func (r *Report) AddList(ctx context.Context, target policydecl.TargetKind, raw []byte) error {
	r.addPage(ctx, of(target), raw)
	r.finish()
	return ctx.Err()
}

// AddDeclaration adds one declaration without a list around it.
func (r *Report) AddDeclaration(target policydecl.TargetKind, raw []byte) {
	r.add(of(target), raw)
}

// addPage adds one answer to a list request and returns the next page's cursor, if the
// next page is to be looked at.
func (r *Report) addPage(ctx context.Context, k kind, raw []byte) (next string, more bool) {
	obj, err := rawjson.ReadObject(raw)
	if err != nil {
		r.note(k.method, fault("", policydecl.RuleMCP, &flowerrors.ConfigError{
			Value: string(raw), Reason: flowerrors.ReasonType,
			Detail: "the answer is " + err.Error(), Hint: "answer with an object that has the member " + k.list,
		}))
		return "", false
	}
	r.note(k.method, Duplicates(obj)...)
	for _, m := range obj {
		if m.Name != k.list && !utf8.Valid(m.Value) {
			r.note(k.method, fault(pointer(m.Name), policydecl.RuleJSON, &flowerrors.ConfigError{
				Value: string(m.Value), Reason: flowerrors.ReasonType, Detail: "not valid UTF-8",
			}))
		}
	}
	room := r.addEntries(ctx, k, obj.Get(k.list))
	cursor := obj.Get("nextCursor")
	if cursor == nil {
		return "", false
	}
	next, ok := rawjson.Text(cursor)
	if !ok {
		r.note(k.method, fault("/nextCursor", policydecl.RuleMCP, &flowerrors.ConfigError{
			Value: string(cursor), Reason: flowerrors.ReasonType,
			Detail: "a cursor is a string", Hint: "leave nextCursor out of the last page",
		}))
	}
	return next, ok && room && next != "" // many servers and clients take "" for the end
}

// addEntries adds the declarations of one page, and reports whether there was room for all
// of them. A schema can take a validator long, so a list of them may be left unfinished.
func (r *Report) addEntries(ctx context.Context, k kind, raw []byte) bool {
	list, more, err := rawjson.ReadArray(raw, MaxEntries-len(r.Entries))
	if err != nil {
		e := &flowerrors.ConfigError{
			Value: string(raw), Reason: flowerrors.ReasonType,
			Detail: "is no array", Hint: "list nothing as []",
		}
		if raw == nil {
			e.Reason, e.Detail = flowerrors.ReasonMissing, "the answer lists nothing"
		}
		r.note(k.method, fault(pointer(k.list), policydecl.RuleMCP, e))
		return true
	}
	for _, v := range list {
		if ctx.Err() != nil {
			return false
		}
		r.add(k, v)
	}
	if more {
		r.note(k.method, fault(pointer(k.list), policydecl.RuleMCP, &flowerrors.ConfigError{
			Reason: flowerrors.ReasonLimit, Limit: MaxEntries, Detail: "too many declarations: the rest was not looked at",
		}))
	}
	return !more
}

// add adds one declaration.
func (r *Report) add(k kind, raw []byte) {
	e := Entry{Kind: k.target, Policy: r.defaultPolicy(), Source: FromDraft, Raw: raw}
	if r.Server.HasDefault {
		e.Source = FromServer
	}
	for i := len(r.Entries) - 1; i >= 0; i-- {
		if r.Entries[i].Kind == k.target {
			e.Index = r.Entries[i].Index + 1
			break
		}
	}
	if obj, err := rawjson.ReadObject(raw); err == nil {
		e.Name, _ = obj.Text(k.name)
		declared := obj.Get(policydecl.PolicyMember)
		if declared == nil {
			declared = obj.Object(memberMeta).Get(policydecl.PolicyKey)
			e.copied = declared != nil
		}
		if declared != nil {
			if p, fallback := readPolicy(declared, e.Policy); !fallback {
				e.Policy, e.Source = p, FromOwn
			}
		}
	}
	r.Entries = append(r.Entries, e)
	r.keep(&r.Entries[len(r.Entries)-1], policydecl.ValidateDeclaration(k.target, raw))
}

func (r *Report) defaultPolicy() policydecl.Policy {
	if r.Server.Default.IsZero() {
		return policydecl.Default()
	}
	return r.Server.Default
}

// keep adds faults to an entry as far as the bounds allow, and counts the others.
func (r *Report) keep(e *Entry, faults []policydecl.Fault) {
	e.Capped = e.Capped || Capped(faults)
	room := min(MaxFaults-len(e.Faults), MaxAllFaults-r.kept)
	if len(faults) > room {
		e.More += len(faults) - room
		faults = faults[:room]
	}
	r.kept += len(faults)
	e.Faults = append(e.Faults, slices.Clip(faults)...)
}
