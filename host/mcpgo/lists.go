package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// listing is how the declarations of a kind are listed.
type listing struct {
	kind       policydecl.TargetKind
	method     mcp.MCPMethod
	capability string // of the server
	changed    string // the notification that it announces changes with
}

var listings = []listing{
	{policydecl.Tool, mcp.MethodToolsList, "tools", mcp.MethodNotificationToolsListChanged},
	{policydecl.Prompt, mcp.MethodPromptsList, "prompts", mcp.MethodNotificationPromptsListChanged},
	{policydecl.Resource, mcp.MethodResourcesList, "resources", mcp.MethodNotificationResourcesListChanged},
	{policydecl.Template, mcp.MethodResourcesTemplatesList, "resources", mcp.MethodNotificationResourcesListChanged},
}

// lists knows which lists of a server have been read to the end since they last changed,
// and reads them when they are needed.
//
// conn has the verdict: it calls a kind stale until it is told that the kind is fresh. A
// list is fresh only if nothing changed between the first request for it and the last
// answer, and that is counted here.
type lists struct {
	inner transport.Interface
	conn  *host.Connection

	mu    sync.Mutex // never held while anybody is waited for
	kinds map[policydecl.TargetKind]*kindState
}

// kindState is what is known of one list.
type kindState struct {
	listing
	absent  bool // the server does not announce the kind
	changes int  // how often the list may have changed
	flight  *flight

	// fault is what was wrong with the list as it was when changes was faultAt.
	fault   error
	faultAt int

	// The application's own reading, page by page: the cursor that it will ask for next,
	// and changes when it began.
	open  bool
	next  string
	since int
}

// flight is a list that is being read, for all requests that need it.
type flight struct {
	done  chan struct{}
	since int   // changes when it began
	err   error // once done
	own   bool  // err is the reader's own: its context ended
}

func newLists(inner transport.Interface, conn *host.Connection) *lists {
	l := &lists{inner: inner, conn: conn, kinds: make(map[policydecl.TargetKind]*kindState)}
	for _, is := range listings {
		l.kinds[is.kind] = &kindState{listing: is}
	}
	return l
}

// hello reads which kinds the server announces. The server may have been started anew, so
// everything that was listed before is stale.
func (l *lists) hello(result json.RawMessage) {
	capabilities := member(result, "capabilities")
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.kinds {
		s.absent = !has(capabilities, s.capability)
		l.change(s)
	}
}

// announced takes in a notification.
func (l *lists) announced(method string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.kinds {
		if s.changed == method {
			l.change(s)
		}
	}
}

// change notes that a list may have changed. l.mu is held.
func (l *lists) change(s *kindState) {
	s.changes++
	l.conn.Stale(s.kind)
}

// complete notes that a list has been read to its end by somebody who began when changes
// was since. l.mu is held.
func (l *lists) complete(s *kindState, since int) {
	if s.changes == since {
		s.fault = nil
		l.conn.Fresh(s.kind)
	}
}

// reading is one request of the application for a page of a list.
type reading struct {
	state  *kindState
	cursor string
	since  int
}

// begin takes in a request that is about to be sent. It returns nil for one that lists
// nothing.
func (l *lists) begin(request transport.JSONRPCRequest) *reading {
	for _, s := range l.kinds {
		if string(s.method) != request.Method {
			continue
		}
		params, _ := request.Params.(json.RawMessage)
		l.mu.Lock()
		defer l.mu.Unlock()
		return &reading{s, text(params, "cursor"), s.changes}
	}
	return nil
}

// page takes in a page that the application has asked for. Only an unbroken chain of
// pages from the first to the last is a whole list.
func (l *lists) page(ctx context.Context, r *reading, result json.RawMessage) {
	first := r.cursor == ""
	err := l.conn.Page(ctx, r.state.kind, result, first)
	l.mu.Lock()
	defer l.mu.Unlock()
	s := r.state
	switch {
	case err != nil:
		s.open = false
		return
	case first:
		s.open, s.since = true, r.since
	case !s.open || s.next != r.cursor:
		return
	}
	s.next, err = nextCursor(result)
	s.open = err == nil && s.next != ""
	if err == nil && s.next == "" {
		l.complete(s, s.since)
	}
}

// errAborted is the error of a flight whose reader has panicked.
var errAborted = errors.New("the list was not read to its end")

// refresh sees to it that the list of a kind has been read as it was when refresh was
// called, or later. It returns once that is so, also if the server goes on announcing
// changes: the request that waits must not starve.
func (l *lists) refresh(ctx context.Context, kind policydecl.TargetKind, as likeness) error {
	s := l.kinds[kind]
	l.mu.Lock()
	arrived := s.changes
	for {
		if s.absent {
			l.complete(s, s.changes)
			l.mu.Unlock()
			return nil
		}
		if s.fault != nil && s.faultAt == s.changes {
			defer l.mu.Unlock()
			return s.fault
		}
		f := s.flight
		if f == nil {
			f = &flight{done: make(chan struct{}), since: s.changes, err: errAborted, own: true}
			s.flight = f
			l.mu.Unlock()
			return l.fly(ctx, s, f, as)
		}
		l.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !f.own && f.since >= arrived {
			return f.err
		}
		l.mu.Lock()
	}
}

// fly reads a list for all who need it.
func (l *lists) fly(ctx context.Context, s *kindState, f *flight, as likeness) error {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		s.flight = nil
		close(f.done)
	}()
	err := l.read(ctx, s.listing, as)
	l.mu.Lock()
	defer l.mu.Unlock()
	f.err, f.own = err, err != nil && ctx.Err() != nil
	var lasting *faultError
	switch {
	case err == nil:
		l.complete(s, f.since)
	case errors.As(err, &lasting):
		s.fault, s.faultAt = err, f.since
	}
	return err
}
