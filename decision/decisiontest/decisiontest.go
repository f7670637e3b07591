package decisiontest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/flowgate-mcp/flowgate/decision"
)

// Stored returns what a sink has stored so far, one text for each record and in any order,
// once all calls of Record have returned: it must wait for what the sink still holds back. It
// is nil where nothing can be read back, as with a counter.
//
// A text is one line without anything that a terminal obeys (M3), which is how a gate hands
// the texts over. It can have any form that shows the record's RequestID, quotation marks
// and all; there may be backslashes before these.
type Stored func() ([]string, error)

// Run tests sinks that open makes, one for each subtest. It can be used from several tests
// at a time.
func Run(t *testing.T, open func(*testing.T) (decision.Sink, Stored)) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			sink, stored := open(t)
			if err := c.test(sink, stored); err != nil {
				t.Errorf("%v: %s", err, c.why)
			}
		})
	}
}

// TestSink is [Run] without a test: it returns all that is wrong with the sinks that open
// makes, or nil.
func TestSink(open func() (decision.Sink, Stored)) error {
	var all []error
	for _, c := range checks {
		sink, stored := open()
		if err := c.test(sink, stored); err != nil {
			all = append(all, fmt.Errorf("%s: %w: %s", c.name, err, c.why))
		}
	}
	return errors.Join(all...)
}

// check is one thing that is demanded of a sink.
type check struct {
	name, why  string
	records    func() []decision.Record
	goroutines int  // among which the records are dealt out
	unread     bool // what is stored is not looked at
}

// checks are in the order in which they are made.
var checks = []check{
	{"zero", "the zero Record is one, a refusal about which nothing is known", zero, 1, false},
	{"empty", "every slice can be nil, or empty, which for AcceptFrom is not the same (P4)", empty, 1, false},
	{"full", "a record can have something in every field", full, 1, false},
	{"extreme", "a number can be as large as its type and a time anything", extreme, 1, false},
	{"hostile", "a peer chooses most texts, which the gate has escaped", hostile, 1, false},
	{"raw", "a record that no gate made can have texts of any bytes, of which none must bring a sink down", raw, 1, true},
	{"alike", "two records that differ in nothing but the RequestID are two", alike, 1, false},
	{"concurrent", "gates that share a sink call it from several goroutines", many, 8, false},
}

// test hands the records to a sink and finds out what it did.
func (c check) test(sink decision.Sink, stored Stored) error {
	if sink == nil {
		return errors.New("there is no sink")
	}
	records, untouched := guard(c.records())
	if err := hand(sink, records, c.goroutines); err != nil {
		return err
	}
	if stored != nil && !c.unread {
		texts, err := stored()
		if err != nil {
			return fmt.Errorf("reading back: %w", err)
		}
		if err := compare(records, texts); err != nil {
			return err
		}
	}
	return untouched() // after what the sink may have done later
}

// contextKey is a key that only this package has.
type contextKey struct{}

// call calls the sink as a gate does: with values, but without an end.
func call(sink decision.Sink, r decision.Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in Record: %v", p)
		}
	}()
	ctx := context.WithValue(context.Background(), contextKey{}, "request")
	if err := sink.Record(ctx, r); err != nil {
		return fmt.Errorf("error from Record: %w", err)
	}
	return nil
}
