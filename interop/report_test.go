//go:build interop

package interop

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// chromium is the browser that pages are opened in, as Debian's package of that name
// installs it. That it is missing is a failure, see install.
const chromium = "chromium"

// reportPage makes flowgate write the page for a log.
func reportPage(ctx context.Context, t *testing.T, log string) string {
	t.Helper()
	program, name := built(t, "./cmd/flowgate"), filepath.Join(t.TempDir(), "page.html")
	out, err := exec.CommandContext(ctx, program, "report", "-html", name, log).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

// browse runs the browser to its end and returns what it wrote.
func browse(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(chromium)
	if err != nil {
		t.Fatalf("%v; run: apt-get install -y --no-install-recommends chromium fonts-dejavu-core", err)
	}
	profile := t.TempDir()
	all := []string{
		"--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-extensions", "--hide-scrollbars", "--user-data-dir=" + profile,
		// No name leads anywhere; the address of this machine does, so that an attempt is seen.
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
	}
	if os.Geteuid() == 0 {
		all = append(all, "--no-sandbox") // which does not work for root
	}
	cmd := exec.CommandContext(ctx, path, append(all, args...)...)
	cmd.Env = []string{"HOME=" + profile, "PATH=" + os.Getenv("PATH")}
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = stopTime
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it may have left behind
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	return out.String()
}

// dom is the page as the browser understood it.
func dom(ctx context.Context, t *testing.T, page string) string {
	t.Helper()
	return browse(ctx, t, "--dump-dom", "file://"+page)
}

// canary is a server that nobody may ask for anything.
type canary struct {
	*httptest.Server
	asked atomic.Int32
}

func newCanary(t *testing.T) *canary {
	c := &canary{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { c.asked.Add(1) }))
	t.Cleanup(c.Close)
	return c
}

// attack is markup that leaves a trace wherever it is taken for markup: the title changes, or
// the canary is asked.
func (c *canary) attack() string {
	return `<script>document.title="trace"</script><img src="` + c.URL + `/img" onerror="document.title='trace'"><link rel="stylesheet" href="` + c.URL + `/css"><style>body{background:url(` + c.URL + `/bg)}</style>`
}

// Without the page's policy the attack leaves its traces; or the next tests would say nothing.
func TestReportPageAttackWorks(t *testing.T) {
	t.Parallel()
	ctx, c := testContext(t), newCanary(t)
	page := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(page, []byte("<!DOCTYPE html><title>before</title><body>"+c.attack()), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := dom(ctx, t, page); !strings.Contains(text, "<title>trace</title>") || c.asked.Load() < 3 {
		t.Errorf("asked %d times\n%s", c.asked.Load(), text)
	}
}

// hostileLog is a log in which everything that can be chosen is the attack.
func hostileLog(t *testing.T, c *canary) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := decision.NewWriter(f)
	for _, before := range []string{"", `">`, "</title></style></svg></table>", "-->", "]]>", "'>", "\u202e"} {
		s := before + c.attack()
		r := decision.Record{
			Server: s, Method: s, Target: s, Client: s, Detail: s, Verdict: decision.Fault, Mode: policydecl.DangerouslyReport, Reason: decision.Reason(s),
			Policy: s, Settings: s, AcceptFrom: []string{s},
		}
		refused := r
		refused.Verdict, refused.Reason = decision.Refused, decision.ReasonContributor
		refused.Rejected = []decision.Contributor{{Assurance: "tofu", Principal: s, Unusable: s}}
		if err := errors.Join(w.Record(t.Context(), r), w.Record(t.Context(), refused)); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// Texts of records are texts to the browser, and nothing is fetched for them.
func TestReportPageHostile(t *testing.T) {
	t.Parallel()
	ctx, c := testContext(t), newCanary(t)
	text := dom(ctx, t, reportPage(ctx, t, hostileLog(t, c)))
	if !strings.Contains(text, "<title>Flow policy report</title>") || !strings.Contains(text, "&lt;script&gt;") {
		t.Errorf("%.2000s", text)
	}
	for _, element := range []string{"<script", "<img", "<link", "<a ", "<iframe", "<form"} {
		if strings.Contains(text, element) {
			t.Errorf("there is a %s", element)
		}
	}
	if n := strings.Count(text, "<style>"); n != 1 || c.asked.Load() != 0 {
		t.Errorf("%d styles, asked %d times", n, c.asked.Load())
	}
}

// Even if markup got into the page, its policy keeps it from running and fetching.
func TestReportPagePolicy(t *testing.T) {
	t.Parallel()
	ctx, c := testContext(t), newCanary(t)
	page := reportPage(ctx, t, sampleLog)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	attacked := strings.Replace(string(text), "</main>", c.attack()+"</main>", 1)
	if err := os.WriteFile(page, []byte(attacked), 0o600); err != nil || attacked == string(text) {
		t.Fatal(err)
	}
	if text := dom(ctx, t, page); !strings.Contains(text, "<title>Flow policy report</title>") || !strings.Contains(text, "<img src=") || c.asked.Load() != 0 {
		t.Errorf("asked %d times\n%.300s", c.asked.Load(), text)
	}
}

const sampleLog = "../cmd/flowgate/testdata/records.jsonl"

// The browser finds the tables and the picture.
func TestReportPageText(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	text := dom(ctx, t, reportPage(ctx, t, sampleLog))
	for _, want := range []string{
		"Enforcing today would stop 238 of 444 requests: 4 targets, 3 hosts.", `<th role="rowheader" scope="row" class="" data-label="Target"><span class="value">export_records</span></th>`,
		`<span class="value">unverified https://fetch.example/mcp</span>`, `<svg class="wide"`, `<svg class="narrow"`, "legacy-bridge to no label: ", "at one time with another",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}

// shoot takes a picture of the page.
func shoot(ctx context.Context, t *testing.T, page, size, scheme string) image.Image {
	t.Helper()
	name := filepath.Join(t.TempDir(), "shot.png")
	browse(ctx, t, "--screenshot="+name, "--window-size="+size, "--blink-settings=preferredColorScheme="+scheme, "file://"+page)
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// colours counts the pixels of each colour.
func colours(img image.Image, area image.Rectangle) map[color.RGBA]int {
	counts := map[color.RGBA]int{}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			counts[color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}]++
		}
	}
	return counts
}
