package overrides

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"os"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/plain"
)

// content stands for the content of a file; the zero one for none.
type content [sha256.Size]byte

// watcher is the state of one Watch.
type watcher struct {
	path string
	gate Applier
	log  *slog.Logger

	judged  content    // what was applied, refused or found to be in force
	pending content    // what was there at the last look and is not judged yet
	problem string     // why the file could not be read at the last look
	applied string     // the digest of what was applied last
	kept    *Overrides // what the judged content says, if the gate is to be held to it
}

// longestText is how many bytes of a path or of an error a log line shows.
const longestText = 1024

func (w *watcher) file() slog.Attr { return slog.String("file", plain.Escape(w.path, longestText)) }

// say logs something about the file.
func (w *watcher) say(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	w.log.LogAttrs(ctx, level, message, append([]slog.Attr{w.file()}, attrs...)...)
}

// saying is the attribute for the digest of overrides.
func saying(digest string) slog.Attr { return slog.String("overrides", digest) }

// look reads the file and judges what is new in it, or whatever is in it if forced.
func (w *watcher) look(ctx context.Context, forced bool) {
	data, err := readFile(w.path)
	if err != nil {
		w.pending = content{} // looks are no longer in a row
		if text := err.Error(); forced || text != w.problem {
			w.problem = text
			w.refused(ctx, "flow overrides cannot be read; what is in force stays", err)
		}
		return
	}
	if w.problem != "" {
		w.problem = ""
		w.say(ctx, slog.LevelInfo, "flow overrides can be read again")
	}
	now := content(sha256.Sum256(data))
	switch {
	case forced:
	case now == w.judged:
		w.pending = content{}
		w.hold(ctx)
		return
	case now != w.pending:
		w.pending = now
		return
	}
	w.judged, w.pending, w.kept = now, content{}, nil
	w.judge(ctx, data)
}

// judge applies what the file says unless it is in force.
func (w *watcher) judge(ctx context.Context, data []byte) {
	o, err := Parse(w.path, data)
	if err != nil {
		w.refused(ctx, "flow overrides refused; what is in force stays", err)
		return
	}
	digest := o.Digest()
	if digest == w.inForce() {
		w.kept, w.applied = &o, digest
		w.say(ctx, slog.LevelInfo, "flow overrides read; they are in force already", saying(digest))
		return
	}
	if w.apply(ctx, o) {
		w.kept, w.applied = &o, digest
		w.say(ctx, slog.LevelInfo, "flow overrides reloaded", saying(digest))
	}
}

// apply reports whether the gate takes the overrides, and logs why not.
func (w *watcher) apply(ctx context.Context, o Overrides) bool {
	err := w.gate.Apply(o.Clone())
	if err != nil {
		w.refused(ctx, "flow overrides refused by the gate; what is in force stays", err)
	}
	return err == nil
}

// hold applies what the file says once more if somebody else has applied something.
func (w *watcher) hold(ctx context.Context) {
	if w.kept == nil {
		return
	}
	found := w.inForce()
	if found == w.applied {
		return
	}
	o := *w.kept
	w.kept = nil // a gate that does not keep them is not asked for ever
	if !w.apply(ctx, o) {
		return
	}
	if w.inForce() != w.applied {
		w.say(ctx, slog.LevelWarn, "flow overrides applied again, but the gate has something else in force", saying(w.applied), slog.String("found", found))
		return
	}
	w.kept = &o
	w.say(ctx, slog.LevelWarn, "flow overrides applied again, because something else was in force", saying(w.applied), slog.String("found", found))
}

// inForce returns the digest of what the gate has, or of what was applied last if the gate
// does not say; "" if nothing is known.
func (w *watcher) inForce() string {
	if g, ok := w.gate.(interface{ Overrides() Overrides }); ok {
		return g.Overrides().Digest()
	}
	return w.applied
}

// refused logs why the file was not applied: on one line, and each mistake on a line of its
// own.
func (w *watcher) refused(ctx context.Context, message string, err error) {
	if errors.Is(err, os.ErrNotExist) {
		message = "flow overrides are gone; what is in force stays"
	}
	count := 0
	var faults []string
	for e := range flowerrors.All(err) {
		if count++; count <= MaxFaults {
			faults = append(faults, e.Error())
		}
	}
	if count == 0 {
		w.say(ctx, slog.LevelError, message, slog.String("error", plain.Escape(err.Error(), longestText)))
		return
	}
	w.say(ctx, slog.LevelError, message, slog.Int("count", count))
	for i, fault := range faults {
		w.say(ctx, slog.LevelError, "mistake in flow overrides", slog.Int("number", i+1), slog.String("fault", fault))
	}
	if more := count - len(faults); more > 0 {
		w.say(ctx, slog.LevelError, "mistakes in flow overrides that are not listed", slog.Int("count", more))
	}
}
