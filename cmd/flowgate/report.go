package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/flowgate-mcp/flowgate/internal/flowreport"
)

const reportUsage = `Usage: flowgate report [FLAGS] FILE...|-

Reads the decision records that gates have written and says what would break if the
policies were enforced today: which tools and hosts, because of whom, and since when;
then what is stopped now, what the gates had to report about themselves, whether
hosts label their requests, and which settings and policies were in force.

A FILE, or standard input (-), holds JSON lines as a decision.Writer writes them, or
the log of a gate that logs with slog's JSON handler; other lines are skipped. A log
must be at level Debug: at Info it holds objections alone. Give one source for each
gate: with its log and its decision.Writer file, requests are counted twice. A name
that ends in .gz is unpacked. Files can be of any size and are read once.

TIME is a date (2026-03-01), a time (2026-03-01T09:30:00Z), or how long ago that was
(90m, 36h, 7d).

Exit status: 0 enforcing would stop nothing, 1 it would stop something or that is not
certain (faults, lost requests, damaged lines, mode off, a source with objections
alone), 2 no answer: a file that cannot be read, no decision record, wrong flags.

Flags:
`

func (a *app) report(ctx context.Context, args []string) (int, error) {
	fs := a.flags("report", reportUsage)
	asJSON := fs.Bool("json", false, "print JSON for machines")
	page := fs.String("html", "", "write a page to this `file` (- is standard output) and print no more than the answer")
	since := fs.String("since", "", "count records from this `time` on")
	until := fs.String("until", "", "count records before this `time`")
	if err := a.parse(fs, args); err != nil {
		return statusMisuse, err
	}
	now := time.Now()
	if a.now != nil {
		now = a.now()
	}
	from, err := moment(*since, now)
	if err != nil {
		return statusMisuse, a.misuse(fs, "-since: %s", err)
	}
	to, err := moment(*until, now)
	if err != nil {
		return statusMisuse, a.misuse(fs, "-until: %s", err)
	}
	switch files := fs.Args(); {
	case len(files) == 0:
		return statusMisuse, a.misuse(fs, "nothing to read; name files of decision records, or - for standard input")
	case *asJSON && *page != "":
		return statusMisuse, a.misuse(fs, "-json and -html exclude each other")
	case !from.IsZero() && !to.IsZero() && !from.Before(to):
		return statusMisuse, a.misuse(fs, "-since is not before -until")
	case lateFlag(files) != "":
		return statusMisuse, a.misuse(fs, "flags come before the files: unexpected argument %s; write ./%s if it is a file", given(lateFlag(files)), shown(lateFlag(files)))
	case isInput(*page, files):
		return statusMisuse, a.misuse(fs, "-html: %s is one of the files to read", given(*page))
	}
	r, err := a.collect(ctx, fs.Args(), from, to)
	if err != nil {
		return a.fail(*asJSON, "report", err)
	}
	switch {
	case *asJSON:
		err = a.printJSON(reportToJSON(r))
	case *page != "":
		err = a.writePage(*page, r)
	default:
		a.showRecords(r)
	}
	if err != nil {
		return statusMisuse, err
	}
	if r.Answer == flowreport.Nothing {
		return statusOK, nil
	}
	return statusFindings, nil
}

// moment reads a time as -since takes it. The zero time is none.
func moment(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil && !t.IsZero() {
			return t.UTC(), nil
		}
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)).UTC(), nil
		}
	}
	ago, err := time.ParseDuration(s)
	if err != nil || ago < 0 {
		return time.Time{}, fmt.Errorf("%s is no date, no time and not how long ago; write 2026-03-01, 2026-03-01T09:30:00Z, 36h or 7d", quoted(s, 40))
	}
	return now.Add(-ago).UTC(), nil
}

// lateFlag returns the first of the files that looks like a flag, or "".
func lateFlag(files []string) string {
	for _, name := range files {
		if len(name) > 1 && name[0] == '-' {
			return name
		}
	}
	return ""
}

// isInput reports whether the page would be written over one of the files to read.
func isInput(page string, files []string) bool {
	if page == "" || page == "-" {
		return false
	}
	out, err := os.Stat(page)
	if err != nil {
		return false
	}
	for _, name := range files {
		if in, err := os.Stat(name); err == nil && os.SameFile(in, out) {
			return true
		}
	}
	return false
}

var errNoRecord = errors.New("no decision record")

// collect reads all files. An interrupt ends it although a read does not.
func (a *app) collect(ctx context.Context, files []string, since, until time.Time) (*flowreport.Report, error) {
	type result struct {
		report *flowreport.Report
		err    error
	}
	done := make(chan result, 1)
	go func() {
		c := flowreport.NewCollector(since, until)
		for _, name := range files {
			if err := a.collectFile(ctx, c, name); err != nil {
				done <- result{nil, fmt.Errorf("cannot read %s: %w", shown(name), err)}
				return
			}
		}
		done <- result{c.Report(), nil}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-done:
		if r.err != nil || r.report.Lines.Records > 0 {
			return r.report, r.err
		}
		return nil, noRecord(r.report.Lines)
	}
}

// noRecord says what there was instead.
func noRecord(l flowreport.Lines) error {
	switch {
	case l.Outside+l.Undated > 0:
		return fmt.Errorf("%w of that time: %d are of another and %d have none", errNoRecord, l.Outside, l.Undated)
	case l.Malformed+l.Unfinished > 0:
		return fmt.Errorf("%w that can be read: %d lines are damaged records and %d are something else", errNoRecord, l.Malformed+l.Unfinished, l.Others)
	case l.Others > 0:
		return fmt.Errorf("%w: all of the %d lines are something else; log with slog's JSON handler at level Debug, or give the gate a decision.NewWriter", errNoRecord, l.Others)
	}
	return fmt.Errorf("%w: there is nothing to read", errNoRecord)
}

func (a *app) collectFile(ctx context.Context, c *flowreport.Collector, name string) error {
	if name == "-" {
		return reading(c.Read(ctx, a.stdin))
	}
	f, err := os.Open(name)
	if err != nil {
		return reading(err)
	}
	defer f.Close()
	in := io.Reader(f)
	if strings.HasSuffix(name, ".gz") {
		packed, err := gzip.NewReader(f)
		if err != nil {
			return reading(err)
		}
		in = packed
	}
	return reading(c.Read(ctx, in))
}

// reading makes an error of a file fit for the terminal.
func reading(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(cause(err))
}

// writePage writes the page, or leaves the file alone if there is no page to write. The
// file is for its owner's eyes: it shows who asks for what.
func (a *app) writePage(name string, r *flowreport.Report) error {
	var b bytes.Buffer
	if err := r.WritePage(&b); err != nil {
		return err
	}
	if name == "-" {
		_, _ = a.stdout.Write(b.Bytes()) // the output remembers
		return nil
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("cannot write %s: %s", shown(name), cause(err))
	}
	fmt.Fprintln(a.stdout, a.answer(r))
	return nil
}

// answer is the headline with its colour.
func (a *app) answer(r *flowreport.Report) string {
	if r.Answer == flowreport.Nothing {
		return a.paint(green, r.Headline())
	}
	return a.paint(red, r.Headline())
}
