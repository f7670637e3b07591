package soak_test

import (
	"slices"
	"sync"
)

// timeline is what was in force on one server in the course of time. A change is not a
// moment: it begins before the server is told and is over when the server has said so.
type timeline struct {
	mu      sync.Mutex
	values  []int
	settled int // the last change that is over
}

func newTimeline() *timeline { return &timeline{values: []int{0}} }

// begin notes that the server is about to be told of a change.
func (t *timeline) begin(value int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.values = append(t.values, value)
}

// settle notes that the last change is over.
func (t *timeline) settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settled = len(t.values) - 1
}

// since returns which states may have been in force since a position, each once.
func (t *timeline) since(at int) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := slices.Clone(t.values[at:])
	slices.Sort(seen)
	return slices.Compact(seen)
}

func (t *timeline) position() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.settled
}

// stays is the state before a position that was not absence, or absence if there was none.
func (t *timeline) stays(at int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for ; at > 0 && t.values[at] == 0; at-- {
	}
	return t.values[at]
}

// last is the state that was begun last.
func (t *timeline) last() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.values[len(t.values)-1]
}

// times are all that can change on one server.
type times struct{ overrides, tool, resource *timeline }

func newTimes() *times { return &times{newTimeline(), newTimeline(), newTimeline()} }

// moment is a position in each timeline.
type moment struct{ overrides, tool, resource int }

func (t *times) now() moment {
	return moment{t.overrides.position(), t.tool.position(), t.resource.position()}
}

// span is what may have been in force while a request was on its way.
type span struct {
	overrides, coming []int
	stays             int // the state of a coming resource whose policy is there while it is absent
}

// since returns the span from a moment until now.
func (t *times) since(q *query) span {
	s := span{overrides: t.overrides.since(q.from.overrides)}
	if q.route != nil {
		switch {
		case q.route.comes == "tool" || q.route.method == "tools/list":
			s.coming = t.tool.since(q.from.tool)
		case q.route.method == "resources/list":
			s.coming = t.resource.since(q.from.resource)
		case q.route.comes == "resource":
			s.coming, s.stays = t.resource.since(q.from.resource), t.resource.stays(q.from.resource)
		}
	}
	return s
}
