package host

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/plain"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Outcome is what became of a request. The values are stable and fit for machines.
type Outcome string

// The outcomes.
const (
	// Answered: the request was sent, and the server answered it, be it with an error
	// of its own.
	Answered Outcome = "answered"
	// BlockedByCeiling: it was not sent, because content of a verified server would have
	// gone to an unverified one (H6).
	BlockedByCeiling Outcome = "blocked-by-ceiling"
	// BlockedByPolicy: it was not sent, because the recipient's published policy refuses
	// it (H5).
	BlockedByPolicy Outcome = "blocked-by-policy"
	// BlockedByName: it was not sent, because another server has a tool of that name and
	// nobody has approved this one.
	BlockedByName Outcome = "blocked-by-name"
	// NotSent: it was not sent, because the label could not be attached or the
	// recipient's policies could not be read (H3).
	NotSent Outcome = "not-sent"
	// RefusedByServer: it was sent, and the server refused it by its flow policy.
	RefusedByServer Outcome = "refused-by-server"
	// Failed: it was sent, and no answer came.
	Failed Outcome = "failed"
)

// Record is what became of one request, for the operator of the host. It holds no
// arguments and no results. None of it may reach the model (H7).
//
// The strings are as written, some of them by a server. LogValue escapes them (M3).
type Record struct {
	Time      time.Time        // when the outcome was known
	Partition string           // its name; empty where there is none
	Server    string           // the recipient's URI
	Method    string           // as in the request: "tools/call", …
	Target    string           // the tool, the prompt, or the URI without query and fragment; empty for other methods
	Outcome   Outcome          // what became of it
	Label     policydecl.Label // that was sent, or would have been
	// Rejected are the contributors that a policy did not accept: the published one where the
	// outcome is BlockedByPolicy, and what the server says of its own where it is
	// RefusedByServer. It is empty otherwise, or if the server does not say.
	Rejected []flowerrors.Rejected
	// AcceptFrom are the tokens of that policy, under the same conditions. Empty, it accepts
	// nobody, or the server does not say whom.
	AcceptFrom []string
	// Reason says what went wrong, where the outcome does not. It is short.
	Reason string
}

// LogValue returns the record as attributes in printable ASCII.
func (r Record) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("partition", escaped(r.Partition)), slog.String("server", escaped(r.Server)), slog.String("method", escaped(r.Method)),
		slog.String("target", escaped(r.Target)), slog.String("outcome", escaped(string(r.Outcome))), slog.String("label", r.Label.Class().String()),
	}
	var contributors []string
	for i, c := range r.Label.Contributors() {
		if contributors = append(contributors, c.String()); i == 15 && r.Label.Len() > 16 {
			contributors = append(contributors, "and "+strconv.Itoa(r.Label.Len()-16)+" more")
			break
		}
	}
	attrs = append(attrs, slog.Any("contributors", contributors))
	if r.Rejected != nil || r.AcceptFrom != nil {
		var rejected, tokens []string
		for _, c := range r.Rejected[:min(16, len(r.Rejected))] {
			rejected = append(rejected, escaped(strings.TrimSpace(c.Assurance+" "+c.Principal)))
		}
		for _, token := range r.AcceptFrom[:min(16, len(r.AcceptFrom))] {
			tokens = append(tokens, escaped(token))
		}
		attrs = append(attrs, slog.Any("rejected", rejected), slog.Any("acceptFrom", tokens))
	}
	if r.Reason != "" {
		attrs = append(attrs, slog.String("reason", escaped(r.Reason)))
	}
	return slog.GroupValue(attrs...)
}

// escaped makes text from a peer printable ASCII of bounded length (M3).
func escaped(s string) string { return plain.Escape(s, 256) }

// Refusal is the error of a request that was refused, by whomever. Its text is the one
// constant that a model may be told (H7); everything else is in the record.
type Refusal struct{ record Record }

// Error returns [flowerrors.ModelText].
func (*Refusal) Error() string { return flowerrors.ModelText }

// Format writes the same, whatever the verb: a record that is printed by mistake must not
// reach the model either (H7).
func (*Refusal) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, flowerrors.ModelText) }

// Record returns what became of the request.
func (r *Refusal) Record() Record {
	if r == nil {
		return Record{}
	}
	return r.record
}

// maxReason bounds a text of a record that can be a server's, in bytes.
const maxReason = 512

// bounded returns the start of a text, without the rest behind it in memory.
func bounded(s string) string {
	if len(s) <= maxReason {
		return s
	}
	return strings.ToValidUTF8(strings.Clone(s[:maxReason]), "") + " (cut)"
}
