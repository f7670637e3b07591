package soak_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// findings are what is wrong. Of a soak that goes wrong all goes wrong, so only the
// first ones of a kind are kept.
type findings struct {
	mu    sync.Mutex
	kinds map[string]int
	texts []string
}

const keptFindings = 5 // of a kind

func newFindings() *findings { return &findings{kinds: map[string]int{}} }

func (f *findings) add(kind, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kinds[kind]++
	if f.kinds[kind] <= keptFindings {
		f.texts = append(f.texts, kind+": "+cutTo(fmt.Sprintf(format, args...), 2500))
	}
}

// any reports whether there are any.
func (f *findings) any() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.kinds) > 0
}

func (f *findings) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(f.kinds)) {
		fmt.Fprintf(&b, "%d of kind %s\n", f.kinds[kind], kind)
	}
	return b.String() + strings.Join(f.texts, "\n")
}

// counts are sums for the summary. Names with a tab in them are cells of a table.
type counts struct{ m sync.Map }

func (c *counts) add(name string) { c.n(name).Add(1) }

func (c *counts) n(name string) *atomic.Int64 {
	n, ok := c.m.Load(name)
	if !ok {
		n, _ = c.m.LoadOrStore(name, new(atomic.Int64))
	}
	return n.(*atomic.Int64)
}

func (c *counts) String() string {
	var lines []string
	c.m.Range(func(k, v any) bool {
		lines = append(lines, fmt.Sprintf("%10d  %s", v.(*atomic.Int64).Load(), k))
		return true
	})
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[12:], b[12:]) })
	return strings.Join(lines, "\n")
}
