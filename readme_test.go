package flowgate_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/internal/proctest"
)

// block is one fenced block of README.md.
type block struct {
	lang, text string
	line       int
}

func readmeBlocks(t *testing.T) []block { return blocksOf(t, "README.md") }

// blocksOf returns the fenced blocks of a document.
func blocksOf(t *testing.T, name string) []block {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	var open *block
	for i, line := range strings.Split(string(text), "\n") {
		lang, fence := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
		switch {
		case fence && open == nil:
			open = &block{lang: lang, line: i + 2}
		case fence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: the block does not end", name, open.line)
	}
	return blocks
}

var space = regexp.MustCompile(`\s+`)

func squeeze(s string) string { return space.ReplaceAllString(strings.TrimSpace(s), " ") }

// TestReadmeGo checks that every Go snippet of the README, and both sides of every
// diff, is part of a file that the compiler has seen.
func TestReadmeGo(t *testing.T) {
	source, err := os.ReadFile("readme_snippets_test.go")
	if err != nil {
		t.Fatal(err)
	}
	compiled := squeeze(string(source))
	found := 0
	check := func(b block, text string) {
		found++
		if text = squeeze(text); !strings.Contains(compiled, text) {
			t.Errorf("README.md:%d: readme_snippets_test.go does not hold this snippet:\n%s", b.line, text)
		}
	}
	for _, b := range readmeBlocks(t) {
		switch b.lang {
		case "go":
			check(b, b.text)
		case "diff":
			for line := range strings.Lines(b.text) {
				check(b, line[1:])
			}
		}
	}
	if found < 10 {
		t.Fatalf("only %d snippets were found", found)
	}
}

// TestDocsGo does the same for the documents in docs.
func TestDocsGo(t *testing.T) {
	source, err := os.ReadFile("docs_snippets_test.go")
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	compiled := squeeze(string(source))
	found := 0
	for _, name := range names {
		for _, b := range blocksOf(t, name) {
			if b.lang != "go" {
				continue
			}
			if found++; !strings.Contains(compiled, squeeze(b.text)) {
				t.Errorf("%s:%d: docs_snippets_test.go does not hold this snippet:\n%s", name, b.line, b.text)
			}
		}
	}
	if found < 2 {
		t.Fatalf("only %d snippets were found", found)
	}
}

// TestReadmeShell runs the shell commands of the README: the programs it starts
// exist, each curl line, sent to a real records server, is answered with the
// JSON block that follows it, and the command line prints the text that follows.
func TestReadmeShell(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	blocks := readmeBlocks(t)
	records, base := startRecords(ctx, t)
	curls, commands := 0, 0
	for i, b := range blocks {
		if b.lang != "sh" {
			continue
		}
		words := shellWords(t, b)
		switch {
		case words[0] == "go" && words[1] == "run":
			if _, err := os.Stat(filepath.Join(filepath.FromSlash(words[2]), "main.go")); err != nil {
				t.Errorf("README.md:%d: %v", b.line, err)
			}
			if words[2] != "./cmd/flowgate" {
				break
			}
			commands++
			if words[3] == "report" {
				checkReport(ctx, t, blocks, i, words)
				break
			}
			got := command(ctx, t, b, words)
			if i+1 < len(blocks) && blocks[i+1].lang == "text" && got != blocks[i+1].text {
				t.Errorf("README.md:%d: printed\n%sbut the README shows\n%s", b.line, got, blocks[i+1].text)
			}
		case b.text == "go test ./...\n": // this is it
		case words[0] == "curl":
			curls++
			got := curl(ctx, t, b, words, base)
			if i+1 < len(blocks) && blocks[i+1].lang == "json" {
				if want := blocks[i+1].text; got != want {
					t.Errorf("README.md:%d: answered\n%sbut the README shows\n%s", b.line, got, want)
				}
			} else if want := `"export_records":1,`; !strings.Contains(got, want) {
				t.Errorf("README.md:%d: answered %s; want %s in it", b.line, got, want)
			}
		default:
			t.Errorf("README.md:%d: this test does not know how to run %q", b.line, b.text)
		}
	}
	checkLog(t, blocks, records.Stop(t))
	if curls < 4 || commands < 4 {
		t.Fatalf("only %d curl lines and %d uses of the command line were found", curls, commands)
	}
}

// checkReport sends the README's requests to a server that only reports, and checks what
// the command line then says of its records, for which the README has a file name.
func checkReport(ctx context.Context, t *testing.T, blocks []block, i int, words []string) {
	t.Helper()
	t.Run("report", func(t *testing.T) {
		const name = "records.jsonl"
		path := filepath.Join(t.TempDir(), name)
		before, at := blocks[i-1], slices.Index(words, name)
		if !strings.Contains(before.text, "-mode report -records "+name) || at < 0 {
			t.Fatalf("README.md:%d: the records of what?", blocks[i].line)
		}
		words = slices.Clone(words)
		words[at] = path
		records, base := startRecords(ctx, t, "-mode", "report", "-records", path)
		for _, b := range blocks {
			if words := shellWords(t, b, "curl"); words != nil && strings.Contains(b.text, "-d") {
				curl(ctx, t, b, words, base)
			}
		}
		records.Stop(t) // then the file is whole
		got := command(ctx, t, blocks[i], words)
		if want := blocks[i+1].text; !strings.HasPrefix(got, want) {
			t.Errorf("README.md:%d: printed\n%sbut the README shows\n%s", blocks[i].line, got, want)
		}
	})
}

// checkLog checks the log lines of the README.
func checkLog(t *testing.T, blocks []block, log string) {
	t.Helper()
	found := 0
	for _, b := range blocks {
		if b.lang != "text" || !strings.HasPrefix(b.text, "INF ") {
			continue
		}
		if found++; !strings.Contains(log, b.text) {
			t.Errorf("README.md:%d: not in the log, which is\n%s", b.line, log)
		}
	}
	if found == 0 {
		t.Error("the README shows no line of the log")
	}
}

// command runs a line of the command line and returns what it prints. Status 1 means
// that it has found something, which is what some lines are there to show.
func command(ctx context.Context, t *testing.T, b block, words []string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if status := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &status) || status.ExitCode() != 1) {
		t.Errorf("README.md:%d: %v\n%s", b.line, err, stderr.String())
	}
	return string(text)
}

// shellWords splits a command of one line. Single quotes are all the quoting that
// the README uses. With a program it returns nil for a line that runs another.
func shellWords(t *testing.T, b block, program ...string) []string {
	t.Helper()
	if len(program) > 0 && (b.lang != "sh" || !strings.HasPrefix(b.text, program[0]+" ")) {
		return nil
	}
	var words []string
	for i, part := range strings.Split(strings.TrimSpace(b.text), "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	if len(words) < 3 || strings.Contains(strings.TrimSpace(b.text), "\n") {
		t.Fatalf("README.md:%d: want a command of one line", b.line)
	}
	return words
}

// curl does what the curl line would do, to the server at base.
func curl(ctx context.Context, t *testing.T, b block, words []string, base string) string {
	t.Helper()
	url, body, header := "", "", http.Header{}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-s":
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			header.Set(name, value)
		case "-d":
			i++
			body = words[i]
		default:
			url = strings.Replace(words[i], "http://127.0.0.1:8931", base, 1)
		}
	}
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatalf("README.md:%d: %v", b.line, err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("README.md:%d: %v", b.line, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("README.md:%d: %v", b.line, err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Errorf("README.md:%d: status %s", b.line, resp.Status)
	}
	return string(text)
}

// programs are the programs that the documents start.
var programs proctest.Programs

func TestMain(m *testing.M) { os.Exit(programs.Run(m)) }

// startRecords runs the records server and returns its base URL too.
func startRecords(ctx context.Context, t *testing.T, args ...string) (records *proctest.Process, base string) {
	t.Helper()
	program := programs.Build(t, "", "./examples/records-server")
	records = proctest.Start(ctx, t, exec.Command(program, append(args, "-addr", "127.0.0.1:0", "-debug")...))
	return records, strings.TrimSuffix(records.URL, "/mcp")
}
