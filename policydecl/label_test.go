package policydecl_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// seen is a label in comparable form: its class and its contributors as text.
func seen(l policydecl.Label) []string {
	list := []string{l.Class().String()}
	for i, c := range l.Contributors() {
		if c != l.At(i) {
			return append(list, "Contributors and At differ")
		}
		list = append(list, c.String())
	}
	if len(list) != l.Len()+1 || l.Complete() != (l.Class() == policydecl.ClassOK) {
		return append(list, "Len or Complete differ")
	}
	return list
}

// labelCases are read in both ways, by LabelOf and by ParseLabel. They also seed the
// fuzz targets.
var labelCases = []struct {
	rule, raw string
	want      []string
}{
	{"L1 null", `null`, []string{"absent", "unverified"}},
	{"L1 number", `42`, []string{"malformed", "unverified"}},
	{"L1 string", `"nope"`, []string{"malformed", "unverified"}},
	{"L1 array", `[]`, []string{"malformed", "unverified"}},
	{"L1 true", `true`, []string{"malformed", "unverified"}},
	{"L2 missing", `{}`, []string{"malformed", "unverified"}},
	{"L2 missing but complete", `{"complete":true}`, []string{"malformed", "unverified"}},
	{"L2 null", `{"contributors":null,"complete":true}`, []string{"malformed", "unverified"}},
	{"L2 string", `{"contributors":"no","complete":true}`, []string{"malformed", "unverified"}},
	{"L2 object", `{"contributors":{"0":{"assurance":"user"}},"complete":true}`, []string{"malformed", "unverified"}},
	{"L2 empty", `{"contributors":[],"complete":true}`, []string{"malformed", "unverified"}},
	{"L3 no objects", `{"contributors":["user",1,null,true,["user"]],"complete":true}`,
		[]string{"ok", "unverified", "unverified", "unverified", "unverified", "unverified"}},
	{"L4 unknown", `{"contributors":[{"assurance":"platinum"}],"complete":true}`, []string{"ok", "unverified"}},
	{"L4 case", `{"contributors":[{"assurance":"User"}],"complete":true}`, []string{"ok", "unverified"}},
	{"L4 not a string", `{"contributors":[{"assurance":["user"]}],"complete":true}`, []string{"ok", "unverified"}},
	{"L4 missing", `{"contributors":[{"principal":"urn:mcp:user"}],"complete":true}`, []string{"ok", "unverified urn:mcp:user"}},
	{"L5 usable", `{"contributors":[{"principal":"https://H.example","assurance":"tofu","publisher":"urn:x1:P"}],"complete":true}`,
		[]string{"ok", "tofu https://H.example publisher urn:x1:P"}},
	{"L5 empty", `{"contributors":[{"principal":"","assurance":"user"}],"complete":true}`, []string{"ok", `user ""`}},
	{"L5 other types", `{"contributors":[{"principal":1,"publisher":null},{"principal":[],"publisher":{}},{"principal":false}],"complete":true}`,
		[]string{"ok", "unverified (number) publisher (null)", "unverified (array) publisher (object)", "unverified (boolean)"}},
	{"L5 unusable", `{"contributors":[{"principal":"https://h/\u0000","assurance":"verified"}],"complete":true}`,
		[]string{"ok", `verified "https://h/\x00"`}},
	{"L6 true", `{"contributors":[{"assurance":"user"}],"complete":true}`, []string{"ok", "user"}},
	{"L6 false", `{"contributors":[{"assurance":"user"}],"complete":false}`, []string{"incomplete", "user", "unverified"}},
	{"L6 missing", `{"contributors":[{"assurance":"user"}]}`, []string{"incomplete", "user", "unverified"}},
	{"L6 string", `{"contributors":[{"assurance":"user"}],"complete":"true"}`, []string{"incomplete", "user", "unverified"}},
	{"L6 yes", `{"contributors":[{"assurance":"user"}],"complete":"yes"}`, []string{"incomplete", "user", "unverified"}},
	{"L6 one", `{"contributors":[{"assurance":"user"}],"complete":1}`, []string{"incomplete", "user", "unverified"}},
	{"L6 array", `{"contributors":[{"assurance":"user"}],"complete":[true]}`, []string{"incomplete", "user", "unverified"}},
	{"L6 object", `{"contributors":[{"assurance":"user"}],"complete":{"true":true}}`, []string{"incomplete", "user", "unverified"}},
	{"L7 depth within", `{"contributors":[{"assurance":"user"}],"complete":true,"x":[[[[[[[1]]]]]]]}`, []string{"ok", "user"}},
	{"L7 depth over", `{"contributors":[{"assurance":"user"}],"complete":true,"x":[[[[[[[[1]]]]]]]]}`, []string{"malformed", "unverified"}},
	{"L7 depth over in objects", `{"contributors":[{"assurance":"user","x":{"a":{"a":{"a":{"a":{"a":{}}}}}}}],"complete":true}`, []string{"malformed", "unverified"}},
	{"L8 folds to contributors", `{"contributors":[{"assurance":"user"}],"Contributors":[],"complete":true}`, []string{"malformed", "unverified"}},
	{"L8 only after folding", `{"contributors":[{"assurance":"user"}],"Complete":true}`, []string{"malformed", "unverified"}},
	{"L8 long s", `{"contributor\u017f":[{"assurance":"user"}],"complete":true}`, []string{"malformed", "unverified"}},
	{"L8 in a contributor", `{"contributors":[{"assurance":"user","a\u017f\u017furance":"tofu"}],"complete":true}`, []string{"malformed", "unverified"}},
	{"L8 in what nobody knows", `{"contributors":[{"assurance":"user"}],"complete":true,"x":{"\u212a":1,"k":1}}`, []string{"malformed", "unverified"}},
	{"L8 same name at other levels", `{"contributors":[{"assurance":"user","complete":1,"x":{"Assurance":1}}],"complete":true,"assurance":1}`,
		[]string{"ok", "user"}},
	{"unknown members are passed over", `{"contributors":[{"assurance":"user","note":"n","z":1.5}],"complete":true,"v":{"a":[1,"b",false,null]}}`,
		[]string{"ok", "user"}},
}

// L1 to L9 by table: what is read, and that both readers agree.
func TestReadLabel(t *testing.T) {
	for _, row := range labelCases {
		t.Run(row.rule, func(t *testing.T) {
			if got := seen(policydecl.LabelOf(decode(t, row.raw), true, defaultLimits)); !slices.Equal(got, row.want) {
				t.Errorf("LabelOf: %q, want %q", got, row.want)
			}
			if got := seen(policydecl.ParseLabel([]byte(row.raw), defaultLimits)); !slices.Equal(got, row.want) {
				t.Errorf("ParseLabel: %q, want %q", got, row.want)
			}
		})
	}
}

// L1 and L9: no label at all is the zero Label, and it is told from a bad one.
func TestL1AbsentLabel(t *testing.T) {
	want := []string{"absent", "unverified"}
	for name, l := range map[string]policydecl.Label{
		"zero":             {},
		"LabelOf absent":   policydecl.LabelOf(nil, false, defaultLimits),
		"LabelOf ignores":  policydecl.LabelOf(decode(t, labelU), false, defaultLimits),
		"ParseLabel(nil)":  policydecl.ParseLabel(nil, defaultLimits),
		"ParseLabel(null)": policydecl.ParseLabel([]byte(" null "), defaultLimits),
	} {
		if got := seen(l); !slices.Equal(got, want) || !l.Equal(policydecl.Label{}) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if l := policydecl.ParseLabel([]byte{}, defaultLimits); l.Class() != policydecl.ClassMalformed {
		t.Errorf("an empty text reads as %v", l.Class())
	}
}

const labelU = `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}],"complete":true}`

// L9: the names operators see.
func TestL9ClassNames(t *testing.T) {
	var names []string
	for _, c := range []policydecl.Class{policydecl.ClassOK, policydecl.ClassAbsent, policydecl.ClassMalformed, policydecl.ClassIncomplete, 77} {
		names = append(names, c.String())
	}
	if want := []string{"ok", "absent", "malformed", "incomplete", "absent"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// Go values that no JSON decoder makes cannot be judged, and nothing panics.
func TestLabelOfOtherGoTypes(t *testing.T) {
	good := func() map[string]any {
		return map[string]any{"contributors": []any{map[string]any{"assurance": "user"}}, "complete": true}
	}
	cyclic := good()
	cyclic["self"] = cyclic
	list := []any{nil, nil, nil, nil, nil, nil, nil, nil}
	for i := range list {
		list[i] = list
	}
	wide := good()
	wide["x"] = list
	for name, v := range map[string]any{
		"struct": struct{ Contributors []string }{}, "label": policydecl.Label{}, "typed map": map[string]string{},
		"typed list":   map[string]any{"contributors": []map[string]any{{"assurance": "user"}}, "complete": true},
		"int":          func() any { v := good(); v["n"] = 1; return v }(),
		"channel":      func() any { v := good(); v["n"] = make(chan int); return v }(),
		"func":         func() any { v := good(); v["complete"] = func() {}; return v }(),
		"bad identity": map[string]any{"contributors": []any{map[string]any{"principal": []string{}}}, "complete": true},
		"nil map":      map[string]any(nil), "cyclic map": cyclic, "cyclic list": wide,
	} {
		l := policydecl.LabelOf(v, true, policydecl.Limits{Depth: 10_000})
		if l.Class() != policydecl.ClassMalformed {
			t.Errorf("%s: %q", name, seen(l))
		}
	}
	if l := policydecl.LabelOf(good(), true, defaultLimits); l.Class() != policydecl.ClassOK {
		t.Errorf("the good one: %q", seen(l))
	}
	withNumber := good()
	withNumber["n"] = json.Number("12")
	if l := policydecl.LabelOf(withNumber, true, defaultLimits); l.Class() != policydecl.ClassOK {
		t.Errorf("json.Number: %q", seen(l))
	}
}

// At is total.
func TestLabelAtOutOfRange(t *testing.T) {
	l := label(user())
	for _, i := range []int{-1, 1, 1 << 40} {
		if c := l.At(i); c != (policydecl.Contributor{}) {
			t.Errorf("At(%d) = %v", i, c)
		}
	}
	for range l.Contributors() {
		break // an iteration can be left
	}
}

// H3 and L2: what a host builds, and that it is read back equal (P8).
func TestBuildLabel(t *testing.T) {
	full := policydecl.NewContributor(partnerURI, policydecl.Verified, publisher)
	rows := []struct {
		l    policydecl.Label
		json string
	}{
		{policydecl.Label{}, `null`},
		{policydecl.BuildLabel(true), `{"contributors":[],"complete":false}`},
		{label(user()), labelU},
		{policydecl.BuildLabel(false, user()), `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}],"complete":false}`},
		{label(full, policydecl.NewContributor("", policydecl.TOFU, "")),
			`{"contributors":[{"principal":"https://partner.example/mcp","assurance":"verified","publisher":"https://acme.example/p.json"},{"assurance":"tofu"}],"complete":true}`},
		{label(policydecl.NewContributor("no URI", policydecl.Host, "nor this")), `{"contributors":[{"assurance":"host"}],"complete":true}`},
	}
	for _, row := range rows {
		got, err := json.Marshal(row.l)
		if err != nil || string(got) != row.json {
			t.Errorf("Marshal = %s, %v, want %s", got, err, row.json)
		}
		if back := policydecl.ParseLabel(got, defaultLimits); !back.Equal(row.l) {
			t.Errorf("ParseLabel(%s) = %q, want %q", got, seen(back), seen(row.l))
		}
		if back := policydecl.LabelOf(decode(t, row.json), true, defaultLimits); !back.Equal(row.l) {
			t.Errorf("LabelOf(%s) = %q, want %q", got, seen(back), seen(row.l))
		}
	}
}

// The caller's slice is not kept.
func TestBuildLabelClones(t *testing.T) {
	cs := []policydecl.Contributor{server(fetchURI, policydecl.Unverified)}
	l := label(cs...)
	cs[0] = user()
	if got := l.At(0).Principal(); got != fetchURI {
		t.Errorf("the label changed to %q", got)
	}
}

func TestLabelEqual(t *testing.T) {
	a, b := user(), server(fetchURI, policydecl.TOFU)
	labels := []policydecl.Label{
		{}, policydecl.BuildLabel(true), label(a), label(b), label(a, b), label(b, a), policydecl.BuildLabel(false, a),
		label(policydecl.NewContributor(policydecl.PrincipalUser, policydecl.User, publisher)),
	}
	for i, x := range labels {
		for j, y := range labels {
			if x.Equal(y) != (i == j) {
				t.Errorf("Equal(%q, %q) = %v", seen(x), seen(y), i != j)
			}
		}
	}
}

// L8 and case 28: what a decoder hides, ParseLabel sees.
func TestL8ParseLabelIsStrict(t *testing.T) {
	for name, raw := range map[string]string{
		"duplicate":            `{"contributors":[{"assurance":"user"}],"complete":false,"complete":true}`,
		"duplicate nested":     `{"contributors":[{"assurance":"user"}],"complete":true,"x":{"a":1,"a":1}}`,
		"duplicate by escapes": `{"contributors":[{"assurance":"user"}],"complete":true,"\u0063omplete":true}`,
		"invalid UTF-8":        "{\"contributors\":[{\"assurance\":\"user\",\"principal\":\"https://records.example/mcp\xff\"}],\"complete\":true}",
		"lone surrogate":       `{"contributors":[{"assurance":"user","principal":"https://records.example/mcp\ud800"}],"complete":true}`,
		"reversed pair":        `{"contributors":[{"assurance":"user","x":"\udc00\ud800"}],"complete":true}`,
		"trailing value":       labelU + ` 1`,
		"trailing junk":        labelU + `}`,
		"cut off":              labelU[:len(labelU)-1],
		"no JSON":              `contributors`,
		"byte order mark":      "\ufeff" + labelU,
		"deep":                 `{"contributors":[{"assurance":"user"}],"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
		"bytes of space":       labelU + strings.Repeat(" ", policydecl.MaxLabelBytes), // L7
		"deep and open":        strings.Repeat(`{"x":`, 9_000),
	} {
		if l := policydecl.ParseLabel([]byte(raw), defaultLimits); l.Class() != policydecl.ClassMalformed {
			t.Errorf("%s: %q", name, seen(l))
		}
	}
	if l := policydecl.ParseLabel([]byte(" \n"+labelU+"\t "), defaultLimits); l.Class() != policydecl.ClassOK {
		t.Errorf("space around the value: %q", seen(l))
	}
}

// Case 28: text that a decoder repaired equals nothing that is configured.
func TestCase28RepairedText(t *testing.T) {
	for _, raw := range []string{
		`{"contributors":[{"assurance":"unverified","principal":"https://records.example/mcp\ud800"}],"complete":true}`,
		"{\"contributors\":[{\"assurance\":\"unverified\",\"principal\":\"https://records.example/mcp\xff\"}],\"complete\":true}",
		`{"contributors":[{"assurance":"user\ufffd"}],"complete":true}`,
	} {
		for name, l := range map[string]policydecl.Label{
			"LabelOf":    policydecl.LabelOf(decode(t, raw), true, defaultLimits),
			"ParseLabel": policydecl.ParseLabel([]byte(raw), defaultLimits),
		} {
			if accepts(t, l, "self", "user", ownURI) {
				t.Errorf("%s accepts %s", name, raw)
			}
		}
	}
}

func TestLabelIsPlain(t *testing.T) {
	for _, v := range []any{policydecl.Label{}, policydecl.Contributor{}, policydecl.Decision{}} {
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			if typ.Field(i).IsExported() {
				t.Errorf("%v.%s is exported: a caller could set it (P9)", typ, typ.Field(i).Name)
			}
		}
	}
}
