//go:build unix

package peer

import "testing"

// When a child was waited for and has left nobody behind, its number may be another's.
func TestGroupsThatAreEmptyAreLeftAlone(t *testing.T) {
	for mode, want := range map[string]bool{"garbage": true, "parent": false} {
		w := newWitness(t)
		cfg := childConfig(t, mode)
		link, err := startChild(cfg.Command, short)
		if err != nil {
			t.Fatal(err)
		}
		if mode == "parent" {
			w.started(t, 1)
			for range 3 {
				if err := link.send(t.Context(), "ping", []byte("{}")); err != nil {
					t.Error(err)
				}
			}
			w.started(t, 2)
		}
		<-link.exited
		if link.group.empty != want {
			t.Errorf("%s: empty %v", mode, link.group.empty)
		}
		link.close(t.Context())
		w.gone(t, len(w.lives))
	}
	g := &group{empty: true}
	g.kill() // has no process, so it would fail
	noneLeft(t)
}
