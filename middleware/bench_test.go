package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// The benchmarks come in two forms. Those with gate=on and gate=off beside each
// other are for benchstat and for allocations. The paired ones interleave short
// batches of both in one run and report the ratio of their medians, because two runs on a
// shared machine differ by more than the gate costs.

// bxBenchCall is a tools/call of about n bytes. text fills the arguments.
func bxBenchCall(label string, n int, text string) []byte {
	msg := func(fill string) string {
		return bxMsg("1", "tools/call", `"name":"search","arguments":{"query":"`+fill+`"}`, label, false)
	}
	if rest := n - len(msg("")); rest > 0 {
		return []byte(msg(strings.Repeat(text, rest/len(text))))
	}
	return []byte(msg(""))
}

const bxEscapes = `\"\\\n\u00e9`

var bxSizes = []struct {
	name string
	n    int
	text string
}{
	{"400B", 400, "x"}, {"64KiB", 64 << 10, "x"}, {"64KiB-escapes", 64 << 10, bxEscapes}, {"1MiB-escapes", 1 << 20, bxEscapes},
}

var bxLabels = []struct{ name, label string }{{"accepted", bxV}, {"refused", bxX}}

// bxBareHandler serves the fixture over HTTP without a gate.
func bxBareHandler(f *bxFix) http.Handler {
	return server.NewStreamableHTTPServer(f.srv, server.WithStateLess(true))
}

// forget keeps the fixture's notes from growing.
func (f *bxFix) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs = f.runs[:0]
}

func bxHandle(f *bxFix, msg []byte) {
	f.forget()
	if f.srv.HandleMessage(context.Background(), json.RawMessage(msg)) == nil {
		panic("no answer")
	}
}

func BenchmarkHandleMessage(b *testing.B) {
	on, off := bxNew(b), bxServer(b, true)
	for _, size := range bxSizes {
		for _, l := range bxLabels {
			for name, f := range map[string]*bxFix{"gate=on": on, "gate=off": off} {
				b.Run(size.name+"/"+l.name+"/"+name, func(b *testing.B) {
					msg := bxBenchCall(l.label, size.n, size.text)
					b.SetBytes(int64(len(msg)))
					b.ReportAllocs()
					for b.Loop() {
						bxHandle(f, msg)
					}
				})
			}
		}
	}
}

// bxServe serves h on the loopback and returns a way to post to it over one
// connection that stays open.
func bxServe(b *testing.B, h http.Handler) (post func(msg []byte)) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &http.Server{Handler: h}
	go func() { _ = s.Serve(l) }()
	b.Cleanup(func() { _ = s.Close() })
	tr := &http.Transport{MaxIdleConnsPerHost: 1}
	b.Cleanup(tr.CloseIdleConnections)
	client := &http.Client{Transport: tr}
	url := "http://" + l.Addr().String() + "/mcp"
	return func(msg []byte) {
		req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(msg))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatalf("status %d, %v", resp.StatusCode, err)
		}
	}
}

func BenchmarkHTTP(b *testing.B) {
	on, off := bxNew(b), bxServer(b, true)
	posts := map[string]func([]byte){"gate=on": bxServe(b, on.handler(b)), "gate=off": bxServe(b, bxBareHandler(off))}
	for _, size := range bxSizes[:2] {
		for _, l := range bxLabels {
			for name, post := range posts {
				b.Run(size.name+"/"+l.name+"/"+name, func(b *testing.B) {
					msg := bxBenchCall(l.label, size.n, size.text)
					b.SetBytes(int64(len(msg)))
					b.ReportAllocs()
					for b.Loop() {
						on.forget()
						off.forget()
						post(msg)
					}
				})
			}
		}
	}
}

// bxPair runs batches of a and b in turn and reports the median time of one call of
// a in units of one of b, and the difference in microseconds.
func bxPair(b *testing.B, batch int, first, second func()) {
	var as, bs []float64
	run := func(f func()) float64 {
		start := time.Now()
		for range batch {
			f()
		}
		return float64(time.Since(start)) / float64(batch)
	}
	for range 2 {
		run(first)
		run(second)
	}
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			as = append(as, run(first))
			bs = append(bs, run(second))
		} else {
			bs = append(bs, run(second))
			as = append(as, run(first))
		}
	}
	slices.Sort(as)
	slices.Sort(bs)
	x, y := as[len(as)/2], bs[len(bs)/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(x/y, "ratio")
	b.ReportMetric((x-y)/1e3, "µs-more")
	b.ReportMetric(y/1e3, "µs-base")
}

// BenchmarkPaired reports what the gate adds to an accepted call.
func BenchmarkPaired(b *testing.B) {
	on, off := bxNew(b), bxServer(b, true)
	postOn, postOff := bxServe(b, on.handler(b)), bxServe(b, bxBareHandler(off))
	for _, size := range bxSizes {
		msg := bxBenchCall(bxV, size.n, size.text)
		batch := max(1, 20*400/len(msg))
		b.Run("HandleMessage/"+size.name, func(b *testing.B) {
			bxPair(b, batch, func() { bxHandle(on, msg) }, func() { bxHandle(off, msg) })
		})
		if size.text == bxEscapes {
			continue
		}
		b.Run("HTTP/"+size.name, func(b *testing.B) {
			bxPair(b, batch, func() { on.forget(); postOn(msg) }, func() { off.forget(); postOff(msg) })
		})
	}
}

// BenchmarkPairedRefusal reports what a refusal costs beside an accepted call; the
// aim is a ratio below 1.
func BenchmarkPairedRefusal(b *testing.B) {
	f := bxNew(b)
	post := bxServe(b, f.handler(b))
	for _, size := range bxSizes[:2] {
		yes, no := bxBenchCall(bxV, size.n, size.text), bxBenchCall(bxX, size.n, size.text)
		batch := max(1, 20*400/len(yes))
		b.Run("HandleMessage/"+size.name, func(b *testing.B) {
			bxPair(b, batch, func() { bxHandle(f, no) }, func() { bxHandle(f, yes) })
		})
		b.Run("HTTP/"+size.name, func(b *testing.B) {
			bxPair(b, batch, func() { post(no) }, func() { f.forget(); post(yes) })
		})
	}
}
