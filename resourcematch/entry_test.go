package resourcematch_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

var mistakes = []struct {
	kind    resourcematch.Kind
	pattern string
	reason  flowerrors.Reason
}{
	{resourcematch.Exact, "", flowerrors.ReasonMissing},
	{0, "a://b", flowerrors.ReasonType},
	{9, "a://b", flowerrors.ReasonType},
	{resourcematch.Exact, "a://" + strings.Repeat("b", resourcematch.MaxURI), flowerrors.ReasonLimit},
	{resourcematch.Exact, "a://%" + strings.Repeat("25", 300), flowerrors.ReasonLimit},
	{resourcematch.Template, "a://%" + strings.Repeat("25", 300) + "{x}", flowerrors.ReasonLimit},
	{resourcematch.Template, "a://" + strings.Repeat("{x}", 65), flowerrors.ReasonLimit},
	{resourcematch.Exact, "customers", flowerrors.ReasonURI},
	{resourcematch.Exact, "/a", flowerrors.ReasonURI},
	{resourcematch.Exact, "://a", flowerrors.ReasonURI},
	{resourcematch.Exact, "1a://b", flowerrors.ReasonURI},
	{resourcematch.Template, "{+uri}", flowerrors.ReasonURI},
	{resourcematch.Template, "{s}://a", flowerrors.ReasonURI},
	{resourcematch.Exact, "a://%", flowerrors.ReasonURI},
	{resourcematch.Exact, "a://%zz", flowerrors.ReasonURI},
	{resourcematch.Template, "a://%{x}2F", flowerrors.ReasonURI},
	{resourcematch.Exact, "a://b\n", flowerrors.ReasonURI},
	{resourcematch.Exact, "a://\x7f", flowerrors.ReasonURI},
	{resourcematch.Exact, "a://\xff", flowerrors.ReasonURI},
	{resourcematch.Template, "a://\ufffd{x}", flowerrors.ReasonURI},
	{resourcematch.Exact, "a://{x}", flowerrors.ReasonNeverMatches},
	{resourcematch.Prefix, "a://{x}/", flowerrors.ReasonNeverMatches},
	{resourcematch.Prefix, "file:///secret", flowerrors.ReasonNeverMatches},
	{resourcematch.Prefix, "file:///secret/*", flowerrors.ReasonNeverMatches},
	{resourcematch.Prefix, "file:///secret/*/", flowerrors.ReasonNeverMatches},
	{resourcematch.Prefix, "file:///*", flowerrors.ReasonNeverMatches},
	{resourcematch.Prefix, "a://b?x/", flowerrors.ReasonNeverMatches},
	{resourcematch.Template, "a://{", flowerrors.ReasonURI},
	{resourcematch.Template, "a://}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{x", flowerrors.ReasonURI},
	{resourcematch.Template, "a://x}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{x{y}}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{+}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{?}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{x,}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{,x}", flowerrors.ReasonUnsupported},
	{resourcematch.Template, "a://{x y}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{.}", flowerrors.ReasonUnsupported},
	{resourcematch.Template, "a://{x.}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{+.x}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{x..y}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{*}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{x**}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{x:}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{x:0}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{x:10000}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{x:1x}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{x:1*}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{%4}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{é}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://{/x}", flowerrors.ReasonUnsupported},
	{resourcematch.Template, "a://{.x}", flowerrors.ReasonUnsupported},
	{resourcematch.Template, "a://{;x}", flowerrors.ReasonUnsupported},
	{resourcematch.Template, "a://{=x}", flowerrors.ReasonUnsupported},
	{resourcematch.Template, "a://b?x={}", flowerrors.ReasonURI},
	{resourcematch.Template, "a://b?x={y}{/z}", flowerrors.ReasonUnsupported},
}

// P6: every mistake at once, each with its place.
func TestCompileMistakes(t *testing.T) {
	entries := make([]resourcematch.Entry, 0, len(mistakes))
	for _, tc := range mistakes {
		entries = append(entries, resourcematch.Entry{Kind: tc.kind, Pattern: tc.pattern})
	}
	m, err := resourcematch.Compile(entries)
	if m != nil {
		t.Error("a matcher was made all the same")
	}
	i := 0
	for e := range flowerrors.All(err) {
		tc := mistakes[i]
		if e.Path != fmt.Sprintf("[%d]", i) || e.Reason != tc.reason || e.Value != tc.pattern || e.Detail == "" {
			t.Errorf("%s %.40q: got %v, want %s at [%d]", tc.kind, tc.pattern, e, tc.reason, i)
		}
		i++
	}
	if i != len(mistakes) {
		t.Errorf("got %d mistakes, want %d", i, len(mistakes))
	}
}

func TestCompileDuplicates(t *testing.T) {
	const exact, template, prefix = resourcematch.Exact, resourcematch.Template, resourcematch.Prefix
	for _, tc := range []struct {
		a, b resourcematch.Entry
		same bool
	}{
		{resourcematch.Entry{Kind: exact, Pattern: "a://b"}, resourcematch.Entry{Kind: exact, Pattern: "a://b"}, true},
		{resourcematch.Entry{Kind: exact, Pattern: "a://b?x"}, resourcematch.Entry{Kind: exact, Pattern: "A://B#y"}, true},
		{resourcematch.Entry{Kind: exact, Pattern: "a://b/%c3"}, resourcematch.Entry{Kind: exact, Pattern: "a://b/%C3"}, true},
		{resourcematch.Entry{Kind: prefix, Pattern: "a://b/"}, resourcematch.Entry{Kind: prefix, Pattern: "a://B/"}, true},
		{resourcematch.Entry{Kind: template, Pattern: "a://b/{x}"}, resourcematch.Entry{Kind: template, Pattern: "A://b/{x}"}, true},
		{resourcematch.Entry{Kind: exact, Pattern: "a://b/"}, resourcematch.Entry{Kind: prefix, Pattern: "a://b/"}, false},
		{resourcematch.Entry{Kind: exact, Pattern: "a://b/"}, resourcematch.Entry{Kind: template, Pattern: "a://b/"}, false},
		{resourcematch.Entry{Kind: exact, Pattern: "a://b/C"}, resourcematch.Entry{Kind: exact, Pattern: "a://b/c"}, false},
		{resourcematch.Entry{Kind: exact, Pattern: "a://b/%41"}, resourcematch.Entry{Kind: exact, Pattern: "a://b/A"}, false},
		{resourcematch.Entry{Kind: template, Pattern: "a://b/{x}"}, resourcematch.Entry{Kind: template, Pattern: "a://b/{y}"}, false},
		{resourcematch.Entry{Kind: template, Pattern: "a://b{?x}"}, resourcematch.Entry{Kind: template, Pattern: "a://b{?y}"}, false},
	} {
		_, err := resourcematch.Compile([]resourcematch.Entry{tc.a, tc.b})
		var e *flowerrors.ConfigError
		if !tc.same {
			if err != nil {
				t.Errorf("%v, %v: %v", tc.a, tc.b, err)
			}
		} else if !errors.As(err, &e) || e.Reason != flowerrors.ReasonDuplicate || e.Path != "[1]" || !strings.Contains(e.Detail, "[0]") {
			t.Errorf("%v, %v: got %v", tc.a, tc.b, err)
		}
	}
}

// The caller's memory stays the caller's.
func TestCompileKeepsNothing(t *testing.T) {
	entries := slices.Clone(fixture)
	m := compile(t, entries)
	clear(entries)
	if got, _, err := m.Match(nil, "records://customers"); err != nil || !slices.Equal(got, []int{0}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestKindString(t *testing.T) {
	for k, want := range map[resourcematch.Kind]string{
		0: "invalid", resourcematch.Exact: "exact", resourcematch.Template: "template", resourcematch.Prefix: "prefix",
	} {
		if got := k.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A caller can give entries the names that its own users know.
func TestCompilePath(t *testing.T) {
	_, err := resourcematch.Compile([]resourcematch.Entry{
		{Kind: resourcematch.Exact, Pattern: "a://b", Path: `resources["a://b"]`},
		{Kind: resourcematch.Exact, Pattern: "A://b", Path: `resources["A://b"]`},
		{Kind: resourcematch.Exact, Pattern: "no scheme"},
	})
	var got []string
	for e := range flowerrors.All(err) {
		got = append(got, e.Path+": "+e.Detail)
	}
	if len(got) != 2 || got[0] != `resources["A://b"]: the exact pattern says the same as resources["a://b"]` || !strings.HasPrefix(got[1], "[2]: ") {
		t.Errorf("got %q", got)
	}
}
