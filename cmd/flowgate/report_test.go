package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// reported runs report at a time that is after the sample.
func reported(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	var out, err bytes.Buffer
	a := &app{stdin: strings.NewReader(stdin), stdout: &out, stderr: &err, now: func() time.Time { return sampleNow }}
	args = append([]string{"report"}, args...)
	return ran{args, a.run(t.Context(), args), out.String(), err.String()}
}

// logOf is a log of records.
func logOf(t *testing.T, records ...decision.Record) string {
	t.Helper()
	var b bytes.Buffer
	w := decision.NewWriter(&b)
	for _, r := range records {
		if err := w.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestReport(t *testing.T) {
	r := reported(t, "", sampleFile)
	r.wants(t, 1, "Enforcing today would stop ")
	harmless(t, r.out)
	r.golden(t, "report")
	r = reported(t, "", "-json", "-since", "2d", "-until", "2026-03-08", sampleFile)
	harmless(t, r.out)
	r.golden(t, "report-json")
	reported(t, "", "-html", "-", sampleFile).golden(t, "report-html")
}

// The exit status answers the question: it is 0 only if all is known and nothing breaks.
func TestReportStatus(t *testing.T) {
	good := decision.Record{Method: "tools/call", Target: "t", Verdict: decision.Accepted, Judged: true, Class: policydecl.ClassOK}
	would := decision.Record{Mode: policydecl.DangerouslyReport}
	lost, off, fault := good, good, good
	lost.Lost, off.Mode, off.Verdict, fault.Verdict = 1, policydecl.DangerouslyOff, decision.Unjudged, decision.Fault
	for name, tt := range map[string]struct {
		text   string
		status int
		want   string
	}{
		"nothing":  {logOf(t, good, decision.Record{}), 0, "Enforcing today would stop nothing of 2 requests."},
		"breaks":   {logOf(t, good, would), 1, "Enforcing today would stop 1 of 2 requests: 1 target, 1 host."},
		"lost":     {logOf(t, lost), 1, "Besides: 1 request has no record"},
		"off":      {logOf(t, off), 1, "Besides: 1 request ran with the mode off"},
		"fault":    {logOf(t, fault), 1, "Besides: 1 request met a gate or a server that is not in order"},
		"damaged":  {logOf(t, good) + "{\"time\n", 1, "Besides: 1 line is a damaged record"},
		"going on": {logOf(t, good) + "{\"time", 0, "Note: 1 last line has no end yet and was left out.\n"},
		"mixed":    {"hello\n" + logOf(t, good) + "{\"level\":\"INFO\"}\n", 0, "Note: 2 lines are no decision records and were skipped.\n"},
		"info":     {logOf(t, decision.Record{}), 1, "Besides: 1 source has no record of a request that nothing was said against: a log at level Info holds objections alone.\n"},
		"empty":    {"", 2, "no decision record: there is nothing to read"},
		"other":    {"hello\n\n{}\n", 2, "no decision record: all of the 2 lines are something else; log with slog's JSON handler at level Debug"},
		"rubbish":  {"{\n{}\n{", 2, "no decision record that can be read: 2 lines are damaged records and 1 are something else"},
	} {
		r := reported(t, tt.text, "-")
		r.wants(t, tt.status, tt.want)
		harmless(t, r.out+r.err)
		if r = reported(t, tt.text, "-json", "-"); r.status != tt.status {
			t.Errorf("%s: status %d with -json", name, r.status)
		}
		var out struct{ Command, Error string }
		if err := json.Unmarshal([]byte(r.out), &out); err != nil || out.Command != "report" || (out.Error != "") != (tt.status == 2) {
			t.Errorf("%s: %v, %.300s", name, err, r.out)
		}
	}
}

func TestReportMisuse(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte(logOf(t, decision.Record{})), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"":                                   "nothing to read; name files",
		"-json -html x -":                    "-json and -html exclude each other",
		"-since yesterday -":                 `-since: "yesterday" is no date, no time and not how long ago`,
		"-until -5m -":                       `-until: "-5m" is no date`,
		"-since 99999d -":                    `-since: "99999d" is no date`,
		"-since 1h -until 2h -":              "-since is not before -until",
		"-html " + log + " " + log:           "-html: \"" + log + "\" is one of the files to read",
		sampleFile + " -html p":              `flags come before the files: unexpected argument "-html"`,
		"/nonexistent/log":                   "cannot read /nonexistent/log: no such file or directory",
		sampleFile + " .":                    "cannot read .: is a directory",
		"-html /nonexistent/p " + sampleFile: "cannot write /nonexistent/p: no such file or directory",
		"-since 1h " + sampleFile:            "no decision record of that time: 300 are of another and 0 have none",
		sampleFile + " testdata/tool.json":   "",
	} {
		status := 2
		if want == "" {
			status = 1
		}
		reported(t, "", strings.Fields(args)...).wants(t, status, want)
	}
}

func TestReportTimes(t *testing.T) {
	at := func(s string) decision.Record {
		when, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return decision.Record{Time: when, Verdict: decision.Accepted}
	}
	text := logOf(t, at("2026-03-01T00:00:00Z"), at("2026-03-08T08:00:00Z"), at("2026-03-09T07:00:00+01:00"), decision.Record{Verdict: decision.Accepted})
	for args, want := range map[string]string{
		"-": "of 4 requests", "-since 2026-03-01 -": "of 3 requests", "-since 2026-03-01T00:00:00Z -until 2026-03-08T08:00:00Z -": "of 1 request.",
		"-since 24h -": "of 2 requests", "-since 1d -": "of 2 requests", "-since 2h -": "of 1 request.", "-until 8d -": "of 1 request.", "-until 90m -": "of 3 requests",
	} {
		reported(t, text, strings.Fields(args)...).wants(t, 0, want)
	}
	reported(t, text, "-since", "1d", "-").wants(t, 0, "Note: 1 record is of another time.\n", "Note: 1 record has no time and was left out.\n")
}

// Several files are one report, and those that end in .gz are unpacked.
func TestReportFiles(t *testing.T) {
	text, err := os.ReadFile(sampleFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	half := bytes.IndexByte(text[len(text)/2:], '\n') + len(text)/2 + 1
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text[:half]); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	one, two, cut := filepath.Join(dir, "log.1.gz"), filepath.Join(dir, "log"), filepath.Join(dir, "cut.gz")
	for name, content := range map[string][]byte{one: packed.Bytes(), two: text[half:], cut: packed.Bytes()[:packed.Len()/2]} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := reported(t, "", sampleFile)
	if got := reported(t, "", two, one); got.out != want.out || got.status != want.status {
		t.Errorf("%s", got.out)
	}
	if got := reported(t, string(text[:half]), two, "-"); got.out != want.out {
		t.Errorf("%s", got.out)
	}
	reported(t, "", cut).wants(t, 2, "cannot read ", "unexpected EOF")
	plain := filepath.Join(dir, "plain.gz")
	if err := os.WriteFile(plain, text, 0o600); err != nil {
		t.Fatal(err)
	}
	reported(t, "", plain).wants(t, 2, "gzip: invalid header")
}

func TestReportPage(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page.html")
	for range 2 { // the second time over the first page
		r := reported(t, "", "-html", name, sampleFile)
		r.wants(t, 1, "Enforcing today would stop ")
		harmless(t, r.out)
		if strings.Count(r.out, "\n") != 1 {
			t.Error(r.out)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil || string(text) != reported(t, "", "-html", "-", sampleFile).out || !bytes.HasPrefix(text, []byte("<!DOCTYPE html>")) {
		t.Errorf("%v\n%.300s", err, text)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

// An interrupt ends a report that waits for more.
func TestReportInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	defer out.Close()
	go func() {
		_, _ = io.WriteString(out, "a line\n") // which has been read when that returns
		cancel()
	}()
	var err bytes.Buffer
	a := &app{stdin: in, stdout: io.Discard, stderr: &err}
	if status := a.run(ctx, []string{"report", "-"}); status != 2 || !strings.Contains(err.String(), "flowgate report: interrupted") {
		t.Errorf("status %d, %s", status, &err)
	}
}

// What peers say reaches neither the terminal nor the page as it is (M3), also from a file
// that no gate wrote.
func TestReportHostile(t *testing.T) {
	evil := "\x1b]0;x\a\x1b[2J\u202e\r\n</script><img src=x onerror=alert(1)>"
	r := decision.Record{
		Server: evil, Method: evil, Target: evil, Verdict: decision.Fault, Mode: policydecl.DangerouslyReport, Reason: decision.Reason(evil), Detail: evil,
		AcceptFrom: []string{evil}, Policy: evil, Settings: evil, Client: evil,
	}
	refused := r
	refused.Verdict, refused.Rejected = decision.Refused, []decision.Contributor{{Assurance: evil, Principal: evil, Unusable: evil}}
	text := logOf(t, r, refused) + `{"method":"` + "\x1b[2J" + `","target":"\u001b[2J","verdict":"refused","mode":"report","reason":"","label":""}` + "\n"
	got := reported(t, text, "-")
	got.wants(t, 1, "Enforcing today would stop 2 of 2 requests", "Besides: 1 line is a damaged record.")
	harmless(t, got.out+got.err)
	got.golden(t, "report-hostile")
	harmless(t, reported(t, text, "-json", "-").out)
	if page := reported(t, text, "-html", "-"); strings.Contains(page.out, "<img") || strings.ContainsAny(page.out, "\x1b\a\u202e") {
		t.Error("the page shows it as it is")
	}
}
