package host

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// refuse records a request that is not sent, and returns the error for the caller.
func (r *Request) refuse(ctx context.Context, o Outcome, reason string) *Refusal {
	r.record.Time, r.record.Outcome = time.Now(), o
	r.record.Reason = bounded(cmp.Or(reason, r.record.Reason))
	if r.connection.made() {
		r.connection.host.record(ctx, r.record)
	}
	return &Refusal{r.record}
}

// end notes that something has come back, whatever it was, before the caller has it (H2),
// and records the outcome of a request that was labelled or refused. The first call counts.
func (r *Request) end(ctx context.Context, record Record, refused bool) {
	if r == nil || !r.connection.made() {
		return
	}
	r.once.Do(func() {
		c := r.connection
		c.Heard(r.partition)
		if describing[record.Method] {
			// The application may show it to the models of other partitions too.
			c.host.tell(c.sources)
		}
		c.leave(r.partition)
		if r.labelled || refused {
			c.host.record(ctx, record)
		}
	})
}

// became returns the record of what became of the request.
func (r *Request) became(o Outcome, reason string) Record {
	var record Record
	if r != nil {
		record = r.record
	}
	record.Time, record.Outcome = time.Now(), o
	record.Reason = bounded(cmp.Or(reason, record.Reason))
	return record
}

// Answered notes that a result has come. From now on the partition holds content of
// the server.
func (r *Request) Answered(ctx context.Context) { r.end(ctx, r.became(Answered, ""), false) }

// Failed notes that no answer came, or none that can be read. The text of err can be the
// server's, so that counts as content too.
func (r *Request) Failed(ctx context.Context, err error) {
	reason := "no answer"
	if err != nil {
		reason = err.Error()
	}
	r.end(ctx, r.became(Failed, reason), false)
}

// Error notes that the server has answered with an error, given as the JSON text of its error
// object. An error is content like any result (H2). If it is a refusal by a flow policy, or
// cannot be read, so that it may be one, the error that is returned is a [*Refusal], and
// nothing of the server's own error may reach the model (H7); otherwise it is nil. What a
// refusal says of the server's policy is recorded and changes nothing: policies are read
// from where they are declared (H5).
func (r *Request) Error(ctx context.Context, object json.RawMessage) error {
	v, refusal, err := flowerrors.ReadViolation(object)
	if !refusal && err == nil {
		r.end(ctx, r.became(Answered, ""), false)
		return nil
	}
	outcome, reason := RefusedByServer, ""
	if !refusal {
		outcome = Failed
	}
	if err != nil {
		reason = err.Error()
	}
	record := r.became(outcome, reason)
	if v != nil {
		record.Rejected, record.AcceptFrom = v.Rejected, v.AcceptFrom
	}
	r.end(ctx, record, true)
	return &Refusal{record}
}
