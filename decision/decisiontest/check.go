package decisiontest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/flowgate-mcp/flowgate/decision"
)

// spare is how much room guard leaves behind each slice.
const spare = 2

// canary is what stands in that room.
const canary = "flowgate-canary"

// guard gives records slices with room behind them and returns a function that finds out
// whether somebody has written to them, or to that room, as append does.
func guard(records []decision.Record) (guarded []decision.Record, untouched func() error) {
	var checks []func() error
	for i := range records {
		r := &records[i]
		if r.Rejected != nil {
			whole := append(slices.Clone(r.Rejected), slices.Repeat([]decision.Contributor{{Assurance: canary}}, spare)...)
			checks = append(checks, unchanged("Rejected", whole))
			r.Rejected = whole[:len(r.Rejected):len(whole)]
		}
		if r.AcceptFrom != nil {
			whole := append(slices.Clone(r.AcceptFrom), slices.Repeat([]string{canary}, spare)...)
			checks = append(checks, unchanged("AcceptFrom", whole))
			r.AcceptFrom = whole[:len(r.AcceptFrom):len(whole)]
		}
	}
	return records, func() error {
		for _, check := range checks {
			if err := check(); err != nil {
				return err
			}
		}
		return nil
	}
}

func unchanged[T comparable](name string, whole []T) func() error {
	before := slices.Clone(whole)
	return func() error {
		switch room := len(whole) - spare; {
		case !slices.Equal(whole[:room], before[:room]):
			return fmt.Errorf("the record's %s was changed, which it shares with others", name)
		case !slices.Equal(whole[room:], before[room:]):
			return fmt.Errorf("something was appended to the record's %s, which it shares with others", name)
		}
		return nil
	}
}

// hand deals the records out to so many goroutines, which begin at the same time, and
// returns the first error of each.
func hand(sink decision.Sink, records []decision.Record, goroutines int) error {
	failed := make([]error, goroutines)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			<-begin
			for i := g; i < len(records); i += goroutines {
				if err := call(sink, records[i]); err != nil && failed[g] == nil {
					failed[g] = fmt.Errorf("record %d: %w", i, err)
				}
			}
		})
	}
	close(begin)
	all.Wait()
	return errors.Join(failed...)
}

// compare finds each record in exactly one text, and in each text exactly one record.
func compare(records []decision.Record, texts []string) error {
	want := map[string]bool{} // the ids that have not been found yet
	zero := 0
	for _, r := range records {
		if r.RequestID == "" {
			zero++ // the record shows nothing by which it could be found
			continue
		}
		want[r.RequestID] = true
	}
	if len(texts) != len(records) {
		return fmt.Errorf("%d records were handed over and %d are stored", len(records), len(texts))
	}
	for _, text := range texts {
		if strings.ContainsAny(text, "\n\r\v\f\x00\x1b\u0085\u2028\u2029\u202e") {
			return fmt.Errorf("a stored record is not one line of harmless text (M3): %.200q", text)
		}
		switch ids := idsIn(text); {
		case len(ids) > 1:
			return fmt.Errorf("one text shows the records %q", ids)
		case len(ids) == 0 && zero > 0:
			zero--
		case len(ids) == 0:
			return fmt.Errorf("a stored record does not show its RequestID: %.200q", text)
		case !want[ids[0]]:
			return fmt.Errorf("record %s is stored twice, or was not handed over", ids[0])
		default:
			delete(want, ids[0])
		}
	}
	return nil
}

// idsIn returns the ids that [id] made, each once.
func idsIn(text string) []string {
	var ids []string
	text = strings.ReplaceAll(text, `\"`, `"`)
	for {
		_, rest, ok := strings.Cut(text, `"`+idPrefix)
		if !ok {
			return ids
		}
		number, after, ok := strings.Cut(rest, `"`)
		number = strings.TrimRight(number, `\`)
		if whole := `"` + idPrefix + number + `"`; ok && !slices.Contains(ids, whole) {
			ids = append(ids, whole)
		}
		text = after
	}
}
