package flowreport_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/internal/flowreport"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// hostileNames are what a peer may call itself, its tools and its principals.
var hostileNames = []string{
	`</script><img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`, `</title></style></svg><script>alert(1)</script>`, `' onmouseover='alert(1)`, "javascript:alert(1)",
	"<!--", "-->", "]]>", "<![CDATA[", "&lt;b&gt;&#60;&amp", "{{.Policy}}", "\u202eevil\u2066\u2069", "\u05d0\u05d1\u05d2 \u0627\u0644", "\x00\x1b[2J\r\n\t", "\xff\xfe",
	"\u2028\u2029\ufeff\uffff", strings.Repeat("x", 10_000), strings.Repeat("<", 10_000), strings.Repeat("\u202e", 10_000), "", " ", "`${1}`", "/*", "*/}</style>", "url(//evil.example/x)",
}

// named is a log in which everything that a peer or a file can choose is that text.
func named(s string) []decision.Record {
	var list []decision.Record
	for i, mode := range []policydecl.Mode{policydecl.DangerouslyReport, policydecl.Enforce, policydecl.DangerouslyOff} {
		for j, verdict := range []decision.Verdict{decision.Refused, decision.Fault, decision.Accepted, decision.Unjudged} {
			// Distinct policies and settings make rows that do not depend on what s is.
			r := refusal(i*10+j, decision.Contributor{Assurance: s, Principal: s, Unusable: s})
			r.Server, r.Method, r.Target, r.Reason, r.Detail, r.FlowOrigin, r.Client = s, s, s, decision.Reason(s), s, s, s
			r.AcceptFrom, r.Policy, r.Settings, r.Session, r.Protocol, r.RequestID = []string{s, s}, "p"+s, "s"+s, s, s, s
			r.Mode, r.Verdict, r.Registered, r.Lost = mode, verdict, j%2 == 0, uint64(j)
			list = append(list, r)
		}
	}
	return list
}

func page(t *testing.T, records ...decision.Record) string {
	t.Helper()
	var b bytes.Buffer
	if err := report(records...).WritePage(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// structure is the page without its texts: the elements with the names of their attributes,
// and the values of those that mean something. The page is written so that it is XML, too:
// what a strict reader takes for text cannot be an element.
func structure(t *testing.T, text string) []string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	var list []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatalf("%v\n%.300s", err, text[max(0, d.InputOffset()-150):])
		}
		switch x := token.(type) {
		case xml.StartElement:
			s := x.Name.Local
			for _, a := range x.Attr {
				s += " " + a.Name.Local
				switch a.Name.Local {
				case "data-label", "d", "x", "y", "viewBox", "height", "width":
				default:
					s += "=" + a.Value
				}
			}
			list = append(list, s)
		case xml.EndElement:
			list = append(list, "/"+x.Name.Local)
		case xml.Directive:
			list = append(list, "!"+string(x))
		case xml.Comment, xml.ProcInst:
			t.Fatalf("%T in the page", x)
		}
	}
}

// The elements of a page do not depend on what the records say.
func TestPageIsNotScripted(t *testing.T) {
	want := structure(t, page(t, named("plain")...))
	if len(want) < 300 {
		t.Fatalf("%d elements", len(want))
	}
	for _, name := range hostileNames {
		text := page(t, named(name)...)
		got := structure(t, text)
		if name == "" { // has no reason, no detail and no method to show
			continue
		}
		if !slices.Equal(got, want) {
			for i := range got {
				if i >= len(want) || got[i] != want[i] {
					t.Errorf("%.40q: element %d is %q, want %q", name, i, got[i], want[min(i, len(want)-1)])
					break
				}
			}
		}
		if strings.ContainsFunc(text, func(c rune) bool { return c > '~' && c != '\u2013' && c != '\u2026' || c < ' ' && c != '\n' }) {
			t.Errorf("%.40q: not plain", name)
		}
	}
}

// Nothing in a page can run or be fetched, and a browser is told so.
func TestPageNeedsNothing(t *testing.T) {
	text := page(t, named(hostileNames[0])...)
	elements := map[string]bool{}
	for _, s := range structure(t, text) {
		name, attributes, _ := strings.Cut(s, " ")
		elements[strings.TrimPrefix(name, "/")] = true
		for _, a := range strings.Fields(attributes) {
			key, _, _ := strings.Cut(a, "=")
			if strings.HasPrefix(key, "on") || slices.Contains([]string{"src", "href", "style", "action", "srcset", "data", "background", "ping"}, key) {
				t.Errorf("%s", s)
			}
		}
	}
	for name := range elements {
		if slices.Contains([]string{"script", "a", "img", "link", "iframe", "object", "embed", "form", "base", "use", "image", "foreignObject", "animate", "set"}, name) {
			t.Errorf("there is a %s", name)
		}
	}
	style := text[strings.Index(text, "<style>")+len("<style>") : strings.Index(text, "</style>")]
	digest := sha256.Sum256([]byte(style))
	policy := `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-` + base64.StdEncoding.EncodeToString(digest[:]) + `'; base-uri 'none'; form-action 'none'"/>`
	if at := strings.Index(text, policy); at < 0 || at > strings.Index(text, "<style>") {
		t.Error("no policy for that style before it")
	}
	if regexp.MustCompile(`(?i)url\(|@import|expression`).MatchString(style) {
		t.Error("the style fetches something")
	}
	if regexp.MustCompile(`(?i)(http|ftp|data|file)s?:`).MatchString(page(t, accepted(1))[:strings.Index(text, "<body>")]) {
		t.Error("the head names something outside")
	}
}

// What the picture shows adds up, and stays small.
func TestPicture(t *testing.T) {
	var records []decision.Record
	for i := range 60 {
		r := refusal(i, decision.Contributor{Assurance: "tofu", Principal: fmt.Sprintf("https://p%d.example/", i)})
		r.Client, r.Target = fmt.Sprint("host", i), fmt.Sprint("tool", i)
		records = append(records, r, accepted(i))
	}
	text := page(t, records...)
	if n := strings.Count(text, `<rect class="node`); n != 2*(6+8+10) {
		t.Errorf("%d nodes", n)
	}
	for _, want := range []string{"<title>(56 others): 56</title>", "<title>accepted: 60</title>", "<title>desk: 60</title>", "<title>desk to accepted: 60 accepted</title>"} {
		if strings.Count(text, want) != 2 {
			t.Errorf("no %s", want)
		}
	}
	for _, r := range []decision.Record{{}, accepted(1)} { // a single band
		if text := page(t, r); strings.Count(text, "<path") != 4 || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Error(text)
		}
	}
	for want, n := range map[string]uint64{"99,999": 99_999, "100 k": 100_000, "999 k": 999_499, "1.00 M": 999_500, "12.3 M": 12_345_678, "4.20 G": 4_200_000_014, "18.4 E": 1<<64 - 1} {
		r := accepted(1)
		r.Suppressed = n - 1
		if text := page(t, r); strings.Count(text, `<tspan class="count">`+want+"</tspan>") != 6 || !strings.Contains(text, ": "+flowreport.Grouped(n)+"</title>") {
			t.Errorf("%d is not %s", n, want)
		}
	}
	huge := refusal(1, stranger)
	huge.Suppressed = 1<<64 - 1
	if text := page(t, huge, accepted(1)); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || strings.Contains(text, "e+") {
		t.Error("a number that is no length")
	} else {
		for _, path := range regexp.MustCompile(` d="([^"]*)"`).FindAllStringSubmatch(text, -1) {
			at := regexp.MustCompile(`[0-9.]+`).FindAllString(path[1], -1) // where its right end is above is 7, below 9
			above, err1 := strconv.ParseFloat(at[7], 64)
			below, err2 := strconv.ParseFloat(at[9], 64)
			if err1 != nil || err2 != nil || below-above < 1.4 {
				t.Errorf("a band that is not seen: %s", path[1])
			}
		}
	}
}

// Every table has a head for each cell, also where the head is not shown.
func TestPageTables(t *testing.T) {
	text := page(t, append(named("x"), accepted(1))...)
	for _, title := range []string{"What enforcing would stop", "Who speaks against requests", "What is stopped now", "What gates report about themselves", "Hosts and their labels", "Settings in force", "Policies in force"} {
		if !strings.Contains(text, ">"+title+"</h2>") {
			t.Errorf("no %s", title)
		}
	}
	cells, labels := strings.Count(text, `role="cell"`)+strings.Count(text, `role="rowheader"`), strings.Count(text, "data-label=")
	if cells == 0 || cells != labels || strings.Contains(text, `data-label=""`) {
		t.Errorf("%d cells, %d labels", cells, labels)
	}
	ids := regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(text, -1)
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id[1]] {
			t.Errorf("two of %s", id[1])
		}
		seen[id[1]] = true
	}
	for _, by := range regexp.MustCompile(`aria-labelledby="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if !seen[by[1]] {
			t.Errorf("nothing is %s", by[1])
		}
	}
}

// A record that was made up by hand is as harmless as one that was read.
func FuzzPage(f *testing.F) {
	for _, s := range hostileNames {
		f.Add(s[:min(len(s), 300)])
	}
	want := 0
	f.Fuzz(func(t *testing.T, s string) {
		if want == 0 {
			want = len(structure(t, page(t, named("plain")...)))
		}
		if got := len(structure(t, page(t, named("n"+s)...))); got != want {
			t.Errorf("%d elements, want %d", got, want)
		}
	})
}
