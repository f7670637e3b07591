package flowerrors_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

var configErrors = []struct {
	name string
	err  *flowerrors.ConfigError
	want string
}{
	{"nil", nil, `<nil>`},
	{"zero", &flowerrors.ConfigError{}, `invalid`},
	{
		"all fields",
		&flowerrors.ConfigError{
			Path: `tools["export"].acceptFrom[1]`, Value: "User", Reason: flowerrors.ReasonUnknownToken,
			Detail: "case matters", Hint: `write "user"`,
		},
		`tools["export"].acceptFrom[1]: unknown-token: "User": case matters; write "user"`,
	},
	{
		"limit",
		&flowerrors.ConfigError{Path: "limits.depth", Reason: flowerrors.ReasonLimit, Limit: 8, Detail: "too low"},
		`limits.depth: over-limit: too low (limit 8)`,
	},
	{
		// M3, case 59: no line, no escape sequence, no direction mark gets through.
		"hostile value",
		&flowerrors.ConfigError{Reason: flowerrors.ReasonURI, Value: "a\n\x1b[2J\u202e\u0085\u2028é\xff\"\\"},
		`unusable-uri: "a\n\x1b[2J\u202e\u0085\u2028\u00e9\xff\"\\"`,
	},
	{
		"hostile elsewhere",
		&flowerrors.ConfigError{Path: "tools[\"a\r\n\"]", Reason: "x\x00", Detail: "caf\u00e9 \xfe", Hint: "\u202e\x7f"},
		`tools["a\r\n"]: x\x00: caf\u00e9 \xfe; \u202e\x7f`,
	},
	{
		"long value is cut between characters",
		&flowerrors.ConfigError{Reason: flowerrors.ReasonURI, Value: strings.Repeat("a", 95) + "é" + strings.Repeat("b", 10)},
		`unusable-uri: "` + strings.Repeat("a", 95) + `"...(+12 bytes)`,
	},
	{
		"long path",
		&flowerrors.ConfigError{Path: strings.Repeat("p", 600), Reason: flowerrors.ReasonURI},
		strings.Repeat("p", 512) + `...(+88 bytes): unusable-uri`,
	},
}

func TestConfigErrorText(t *testing.T) {
	for _, tc := range configErrors {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.err.Error(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestConfigErrorUnder(t *testing.T) {
	for _, tc := range []struct{ prefix, path, want string }{
		{`tools["export"]`, "acceptFrom[1]", `tools["export"].acceptFrom[1]`},
		{"templates", "[3]", "templates[3]"},
		{"uri", "", "uri"},
		{"", "uri", "uri"},
		{"", "", ""},
	} {
		e := &flowerrors.ConfigError{Path: tc.path, Value: "v", Limit: 3}
		got := e.Under(tc.prefix)
		if got.Path != tc.want || got.Value != "v" || got.Limit != 3 {
			t.Errorf("%q under %q: got %+v, want path %q", tc.path, tc.prefix, got, tc.want)
		}
		if got == e || e.Path != tc.path {
			t.Errorf("%q under %q: the receiver was changed", tc.path, tc.prefix)
		}
	}
	if got := (*flowerrors.ConfigError)(nil).Under("x"); got != nil {
		t.Errorf("nil: got %v", got)
	}
}

// tree is an error that holds a, b and c in this order, and others.
func tree() error {
	a := &flowerrors.ConfigError{Path: "a"}
	b := &flowerrors.ConfigError{Path: "[0]"}
	c := &flowerrors.ConfigError{}
	return errors.Join(
		fmt.Errorf("loading: %w", a),
		errors.New("disk on fire"),
		(*flowerrors.ConfigError)(nil),
		fmt.Errorf("two: %w and %w", errors.Join(b), c),
		fmt.Errorf("wrapped: %w", errors.New("elsewhere")),
	)
}

func paths(err error) []string {
	var got []string
	for e := range flowerrors.All(err) {
		got = append(got, e.Path)
	}
	return got
}

func TestAll(t *testing.T) {
	if got, want := paths(tree()), []string{"a", "[0]", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := paths(nil); got != nil {
		t.Errorf("nil: got %q", got)
	}
	if got := paths(errors.New("foreign")); got != nil {
		t.Errorf("foreign: got %q", got)
	}
	n := 0
	for range flowerrors.All(tree()) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("the iteration went on after a break: %d", n)
	}
}

func TestUnder(t *testing.T) {
	if err := flowerrors.Under("x", nil); err != nil {
		t.Errorf("nil: got %v", err)
	}
	if err := flowerrors.Under("x", errors.Join((*flowerrors.ConfigError)(nil))); err != nil {
		t.Errorf("nothing but a nil pointer: got %v", err)
	}
	err := flowerrors.Under("cfg", tree())
	if got, want := paths(err), []string{"cfg.a", "cfg[0]", "cfg"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, want := range []string{"cfg: disk on fire", "cfg: wrapped: elsewhere"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q was lost from %q", want, err)
		}
	}
	foreign := errors.New("foreign")
	if err := flowerrors.Under("", foreign); !errors.Is(err, foreign) {
		t.Errorf("foreign: got %v", err)
	}
	if err := flowerrors.Under("a\nb", foreign); err.Error() != `a\nb: foreign` {
		t.Errorf("prefix: got %q", err)
	}
}

// holed unwraps to a list with a hole, as no error of ours does.
type holed struct{ inside error }

func (holed) Error() string     { return "holed" }
func (h holed) Unwrap() []error { return []error{nil, h.inside} }

func TestUnderSkipsNil(t *testing.T) {
	err := flowerrors.Under("x", holed{&flowerrors.ConfigError{Path: "y"}})
	if got, want := paths(err), []string{"x.y"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzConfigErrorText(f *testing.F) {
	for _, tc := range configErrors {
		if e := tc.err; e != nil {
			f.Add(e.Path, e.Value, string(e.Reason), e.Detail, e.Hint, e.Limit)
		}
	}
	f.Fuzz(func(t *testing.T, path, value, reason, detail, hint string, limit int) {
		e := &flowerrors.ConfigError{
			Path: path, Value: value, Reason: flowerrors.Reason(reason), Detail: detail, Hint: hint, Limit: limit,
		}
		got := e.Error()
		for i := range len(got) {
			if got[i] < ' ' || got[i] > '~' {
				t.Fatalf("byte %d of %q is not printable ASCII", i, got)
			}
		}
		// Each part is cut, and an escape takes up to ten bytes for one to four.
		if len(got) > 10*(4*512+96)+200 {
			t.Fatalf("the text has %d bytes", len(got))
		}
	})
}
