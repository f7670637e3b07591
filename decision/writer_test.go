package decision_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

var _ decision.Sink = (*decision.Writer)(nil)

// A file of a Writer and one of a gate's log are of one format.
func TestWriterIsSlog(t *testing.T) {
	for seed := range uint64(300) {
		r := random(rand.New(rand.NewPCG(seed, 4)))
		if _, offset := r.Time.Zone(); offset%60 != 0 || offset <= -86400 || offset >= 86400 {
			r.Time = r.Time.UTC() // as RFC 3339 cannot say that zone
		}
		if r.Time.Year() < 0 || r.Time.Year() > 9999 {
			r.Time = time.Time{} // nor that year
		}
		if got, want := line(t, r), logged(t, r); got != want {
			t.Fatalf("seed %d\n%.2000s\n%.2000s", seed, got, want)
		}
	}
}

// The bytes themselves, for people who write or read them in another language.
func TestWriterLine(t *testing.T) {
	const want = `{"time":"2026-03-01T09:30:00.123456789+01:00","level":"INFO","msg":"request would be refused by flow policy",` +
		`"method":"tools/call","target":"export_records","verdict":"refused","mode":"report","reason":"contributor","label":"ok","registered":true,` +
		`"flow.origin":"declared","rejected":["unverified https://fetch.example/mcp","tofu","verified \"no\\nuri\"","host urn:mcp:host (number)"],"rejectedMore":2,` +
		`"acceptFrom":["self","user"],"policy":"sha256:abc","settings":"sha256:def","server":"https://records.example/mcp","id":"\"a\\nb\"",` +
		`"session":"s1","protocol":"2025-11-25","client":"desk","detail":"it is \"so\"","took":1500,"suppressed":18446744073709551615,"lost":3}` + "\n"
	if got := line(t, full()); got != want {
		t.Errorf("%s", got)
	}
}

func TestWriterYears(t *testing.T) {
	for when, want := range map[time.Time]bool{
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC): true, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC): false,
		time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC): false, {}: false,
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -30)): false, // which is UTC's next year
	} {
		r, err := parse(line(t, decision.Record{Time: when}))
		if err != nil || r.Time.IsZero() == want {
			t.Errorf("%s: %v, %v", when, r.Time, err)
		}
	}
}

// The longest line that there can be stays below the limit.
func TestWriterLongest(t *testing.T) {
	worst := strings.Repeat(`"`, decision.MaxShown)
	r := decision.Record{
		Server: worst, Method: worst, Target: worst, Reason: decision.Reason(worst), Detail: worst, FlowOrigin: worst, Policy: worst, Settings: worst,
		RequestID: worst, Session: worst, Protocol: worst, Client: worst, AcceptFrom: make([]string, 1000), Rejected: make([]decision.Contributor, 1000),
	}
	for i := range r.AcceptFrom {
		r.AcceptFrom[i] = worst
		r.Rejected[i] = decision.Contributor{Principal: strings.Repeat("x", decision.MaxShown), Unusable: worst}
	}
	text := line(t, r)
	if len(text) >= decision.MaxLine || len(text) < decision.MaxLine/2 {
		t.Errorf("%d bytes", len(text))
	}
	if got, err := parse(text); err != nil || got.More != 992 || len(got.AcceptFrom) != 65 {
		t.Errorf("%v, %d, %d", err, got.More, len(got.AcceptFrom))
	}
}

// disk takes so many bytes in each call, then all; -1 is an impossible answer.
type disk struct {
	bytes.Buffer
	takes []int
	calls int
	err   error
}

var errFull = errors.New("no space left")

func (d *disk) Write(p []byte) (int, error) {
	d.calls++
	if len(d.takes) == 0 {
		return d.Buffer.Write(p)
	}
	n := d.takes[0]
	d.takes = d.takes[1:]
	if n < 0 || n > len(p) {
		return n, d.err
	}
	d.Buffer.Write(p[:n])
	return n, d.err
}

// However a write fails, the records after it can be read, and at most one line for it
// cannot.
func TestWriterFullDisk(t *testing.T) {
	whole := len(line(t, decision.Record{RequestID: "0"}))
	for _, takes := range [][]int{{0}, {1}, {10}, {whole - 1}, {10, 0, 5}, {10, 1}, {10, 1, 0}, {10, 2, 1}, {-1}, {100000}, {0, 0, 0}} {
		for _, fails := range []error{errFull, nil} {
			d := &disk{takes: takes, err: fails}
			w := decision.NewWriter(d)
			failed := 0
			for i := range 6 {
				err := w.Record(t.Context(), decision.Record{RequestID: strconv.Itoa(i)})
				if (err != nil) != (i < len(takes)) || err != nil && !errors.Is(err, errFull) && !errors.Is(err, io.ErrShortWrite) {
					t.Errorf("%v, record %d: %v", takes, i, err)
				}
				if err != nil {
					failed++
				}
			}
			if d.calls != 6 {
				t.Errorf("%v: %d writes for 6 records", takes, d.calls)
			}
			var ids string
			bad := 0
			for in := decision.NewReader(&d.Buffer); ; {
				r, err := in.Next()
				if err == io.EOF {
					break
				} else if err != nil {
					bad++
				}
				ids += r.RequestID
			}
			want := "012345"[failed:]
			if takes[0] == whole-1 {
				want = "012345" // it was whole but for its end
			}
			if ids != want || bad > failed {
				t.Errorf("%v: records %q, want %q, and %d bad lines", takes, ids, want, bad)
			}
		}
	}
}

// A writer that panics does not lock the next record out.
func TestWriterPanics(t *testing.T) {
	var b bytes.Buffer
	panics := true
	w := decision.NewWriter(writerFunc(func(p []byte) (int, error) {
		if panics {
			b.Write(p[:5])
			panic("out of order")
		}
		return b.Write(p)
	}))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = w.Record(t.Context(), decision.Record{})
	}()
	panics = false
	if err := w.Record(t.Context(), decision.Record{RequestID: "2"}); err != nil || strings.Count(b.String(), "\n") != 2 || !strings.Contains(b.String(), "\n{") {
		t.Errorf("%v, %q", err, b.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestWriterConcurrent(t *testing.T) {
	var b bytes.Buffer
	w := decision.NewWriter(&b)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 100 {
				if err := w.Record(context.Background(), decision.Record{RequestID: strconv.Itoa(g*100 + i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for in := decision.NewReader(&b); ; {
		r, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil || seen[r.RequestID] {
			t.Fatalf("%v, id %q", err, r.RequestID)
		}
		seen[r.RequestID] = true
	}
	if len(seen) != 800 {
		t.Errorf("%d records", len(seen))
	}
}

// A log holds other lines, and the reader needs no more memory for a long one.
func TestReader(t *testing.T) {
	long := `{"x":"` + strings.Repeat("x", 3*decision.MaxLine) + `"}` + "\n"
	one, two := line(t, decision.Record{RequestID: "1"}), line(t, decision.Record{RequestID: "2"})
	text := "starting\n\n \r\n" + one + long + `{"level":"INFO","msg":"x"}` + "\r\n" + one[:20] + "\n" + strings.TrimSuffix(two, "\n")
	in := decision.NewReader(strings.NewReader(text))
	for _, want := range []struct {
		line int64
		id   string
		err  error
	}{{1, "", decision.ErrNotDecision}, {4, "1", nil}, {5, "", decision.ErrMalformed}, {6, "", decision.ErrNotDecision}, {7, "", decision.ErrMalformed}, {8, "2", nil}, {8, "", io.EOF}, {8, "", io.EOF}} {
		r, err := in.Next()
		if !errors.Is(err, want.err) || r.RequestID != want.id || in.Line() != want.line || in.Unfinished() != (want.line == 8) {
			t.Errorf("line %d, unfinished %t, %q, %v; want %+v", in.Line(), in.Unfinished(), r.RequestID, err, want)
		}
	}
	in = decision.NewReader(strings.NewReader(long[:2*decision.MaxLine+7]))
	if _, err := in.Next(); !errors.Is(err, decision.ErrMalformed) || !in.Unfinished() {
		t.Error(err)
	}
	in = decision.NewReader(io.MultiReader(strings.NewReader(one+"{half"), writerless{}))
	if r, err := in.Next(); err != nil || r.RequestID != "1" {
		t.Error(err)
	}
	for range 2 {
		if _, err := in.Next(); !errors.Is(err, errFull) {
			t.Errorf("%v, want what the reader below says", err)
		}
	}
}

type writerless struct{}

func (writerless) Read([]byte) (int, error) { return 0, errFull }

// What a record shows is plain even if whoever filled it in did not see to that (M3), and
// escapes are not escaped again.
func TestShown(t *testing.T) {
	for _, s := range hostile {
		once := decision.Shown(s)
		if !harmless(once) || len(once) > decision.MaxShown || decision.Shown(once) != once || decision.Shown(decision.Text(s)) != decision.Text(s) {
			t.Errorf("%q: %q", s, once)
		}
	}
	r := decision.Record{Target: decision.Text("a\nb"), AcceptFrom: []string{"\u202e"}, Policy: "p"}
	if text := r.String(); !strings.Contains(text, `target=a\nb `) || !strings.Contains(text, `[\u202e]`) || r.AcceptFrom[0] != "\u202e" {
		t.Error(text)
	}
	for seed := range uint64(200) {
		if r := random(rand.New(rand.NewPCG(seed, 5))); !harmless(r.String()) {
			t.Errorf("%.2000q", r.String())
		}
	}
}

func TestRecord(t *testing.T) {
	for want, r := range map[string]decision.Record{
		"ERROR request refused: the flow gate is not in order stopped": {Verdict: decision.Fault},
		"INFO request refused: it cannot be judged stopped":            {Verdict: decision.Invalid},
		"INFO request refused by flow policy stopped":                  {},
		"ERROR request refused by flow policy stopped":                 {Reason: decision.ReasonMatcher},
		"INFO request would be refused by flow policy would":           {Mode: policydecl.DangerouslyReport},
		"DEBUG request accepted by flow policy":                        {Verdict: decision.Accepted},
		"DEBUG request not judged by flow policy":                      {Verdict: decision.Unjudged, Mode: policydecl.DangerouslyOff},
		"INFO request refused by flow policy stopped ":                 {Verdict: 9, Mode: 9},
	} {
		got := r.Level().String() + " " + r.Message()
		if r.Stopped() {
			got += " stopped"
		}
		if r.WouldStop() {
			got += " would"
		}
		if got != strings.TrimSpace(want) {
			t.Errorf("%+v: %s", r, got)
		}
	}
	full := full()
	if full.Requests() != 1<<64-1 || (&decision.Record{Suppressed: 2, Lost: 3}).Requests() != 6 {
		t.Error(full.Requests())
	}
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "record", full)
	if !strings.Contains(b.String(), "record.target=export_records") {
		t.Error(b.String())
	}
}

// Whoever encodes a record gets what a Writer writes, and can read it back.
func TestMarshalJSON(t *testing.T) {
	r := decision.Record{Method: "tools/call", Target: "export <a>", Verdict: decision.Accepted, Client: "x\n"}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decision.Parse(text)
	if err != nil || got.Method != r.Method || got.Verdict != r.Verdict {
		t.Errorf("%s: %v, %v", text, got, err)
	}
	if bytes.Contains(text, []byte("Verdict")) {
		t.Errorf("members of the Go type: %s", text)
	}
}
