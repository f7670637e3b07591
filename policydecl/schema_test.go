package policydecl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

type closed struct{}

func (closed) Load(url string) (any, error) { return nil, errors.New("nothing is fetched: " + url) }

// published compiles the published files as somebody else would: from the files alone.
var published = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(closed{})
	files := policydecl.Schemas()
	names, err := fs.Glob(files, "*.schema.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		if err := c.AddResource("https://anywhere.example/"+name, doc); err != nil {
			return nil, err
		}
	}
	out := map[string]*jsonschema.Schema{}
	for _, name := range names {
		if out[strings.TrimSuffix(name, ".schema.json")], err = c.Compile("https://anywhere.example/" + name); err != nil {
			return nil, err
		}
	}
	if out["principal"], err = c.Compile("https://anywhere.example/flow-policy.schema.json#/$defs/principal"); err != nil {
		return nil, err
	}
	return out, nil
})

func schemaAccepts(t testing.TB, name string, v any) bool {
	t.Helper()
	schemas, err := published()
	if err != nil {
		t.Fatal(err)
	}
	schema := schemas[name]
	if schema == nil {
		t.Fatalf("there is no schema %s", name)
	}
	return schema.Validate(v) == nil
}

// decodeExact decodes as a JSON Schema validator does.
func decodeExact(raw []byte) (any, bool) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	return v, err == nil
}

func TestSchemasStandAlone(t *testing.T) {
	schemas, err := published()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"flow-policy", "flow-origin", "flow-policy-violation", "declaration", "tool", "resource", "resource-template", "prompt",
	} {
		if schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
	if len(schemas) != 9 {
		t.Errorf("%d schemas", len(schemas))
	}
}

// The URI pattern says exactly what Canonical says (U1 to U4).
func FuzzPrincipalPattern(f *testing.F) {
	for _, uri := range principalSeeds() {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		if !utf8.ValidString(uri) {
			return
		}
		if got, want := schemaAccepts(t, "principal", uri), resourcematch.Usable(uri); got != want {
			t.Fatalf("the schema says %v of %q, Usable says %v", got, uri, want)
		}
		token := map[string]any{"acceptFrom": []any{"publisher:" + uri}}
		if got, want := schemaAccepts(t, "flow-policy", token), policydecl.AcceptFrom("publisher:"+uri).Err() == nil; got != want {
			t.Fatalf("the schema says %v of publisher:%q, AcceptFrom says %v", got, uri, want)
		}
	})
}

func principalSeeds() []string {
	long := func(n int, head string) string { return head + strings.Repeat("a", n-len(head)) }
	uris := []string{
		"https://h", "HTTPS://H:443/x", "http://h:80", "http://h:0", "http://h:65535", "http://h:65536", "http://h:080", "http://h:",
		"https://h?x", "https://h/*", "https://a..b", "https://.a", "https://a.", "https://a_b", "https://h/%zz", "https://h/%4", "https://h/ü",
		"https://u@h/", "https://h/#f", "https:///x", "https:h", "urn:mcp:user", "URN:a1:b", "urn:a:b", "urn:-a:b", "urn:a-:b", "urn:ab:/", "urn:ab:?", "urn:ab:c?d",
		"urn:ab", "urn:ab:", "urn:" + strings.Repeat("a", 32) + ":x", "urn:" + strings.Repeat("a", 33) + ":x", "ftp://h", "", "https://h\n", "https://h/\u2028",
		"https://h/" + "\u017f", "http\u017f://h/",
	}
	for _, ip := range []string{
		"::", "::1", "1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8::", "1::2::3", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4",
		"1:2:3:4:5:6:7:1.2.3.4", "::01.2.3.4", "::256.1.1.1", "12345::", "::g", "1.2.3.4", "fe80::1%25eth0", "1:2:3:4:5::7:8", "1:2:3::5:6:7:8", ":1::", "1:::2",
	} {
		uris = append(uris, "https://["+ip+"]/", "https://["+ip+"]:8443")
	}
	for n := 2045; n <= 2050; n++ {
		uris = append(uris, long(n, "https://h/"), long(n, "https://h"), long(n, "https://h?"), long(n, "https://h:443?"), long(n, "http://h:80?"),
			long(n, "http://h:443?"), long(n, "https://h:443/"), long(n, "urn:ab:"), long(n, "HTTPS://")+":443", long(n, "https://h:8443?/"))
	}
	return uris
}

func TestPrincipalPattern(t *testing.T) {
	usable := 0
	for _, uri := range principalSeeds() {
		if got, want := schemaAccepts(t, "principal", uri), resourcematch.Usable(uri); got != want {
			t.Errorf("the schema says %v of %.60q (%d bytes), Usable says %v", got, uri, len(uri), want)
		} else if got {
			usable++
		}
	}
	if usable < 40 || usable == len(principalSeeds()) {
		t.Errorf("%d of %d seeds are usable", usable, len(principalSeeds()))
	}
}

// FuzzWireSchemas compares the schemas of policies, labels and violations with the Go
// code, on any bytes that are JSON: what the schema accepts is without fault and compiles,
// what it refuses is not. Where a schema cannot say something, the Go code must be the
// stricter one.
func FuzzWireSchemas(f *testing.F) {
	for _, row := range wireFaults {
		f.Add([]byte(row.raw))
	}
	for _, raw := range wireFaultless {
		f.Add([]byte(raw))
	}
	for _, row := range policyCases {
		f.Add([]byte(row.raw))
	}
	addLabelSeeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) { compareWire(t, raw) })
}

func compareWire(t *testing.T, raw []byte) {
	v, ok := decodeExact(raw)
	if !ok || hidden(policydecl.ValidatePolicy(raw)) {
		return
	}
	compare(t, "flow-policy", raw, v, policydecl.ValidatePolicy(raw), sameTokens(v))
	if obj, ok := v.(map[string]any); ok && !sameTokens(v) {
		if got, want := compiles(t, obj), schemaAccepts(t, "flow-policy", v); got != want {
			t.Fatalf("the schema says %v of %q, Compile says %v", want, raw, got)
		}
	}
	if len(raw) <= policydecl.MaxLabelBytes {
		faults := policydecl.ValidateLabel(raw, defaultLimits)
		compare(t, "flow-origin", raw, v, faults, manyBytes(v) || foldedTwice(v))
		if len(faults) == 0 {
			wellRead(t, raw)
		}
	}
	faults := policydecl.ValidateViolation(raw)
	compare(t, "flow-policy-violation", raw, v, faults, sameTokens(v) || sameEntries(v))
	if len(faults) == 0 {
		wrapped := `{"code":403,"message":"m","data":{"` + flowerrors.ViolationKey + `":` + string(raw) + `}}`
		if _, refusal, err := flowerrors.ReadViolation([]byte(wrapped)); !refusal || err != nil {
			t.Fatalf("faultless, but ReadViolation says %v of %q", err, raw)
		}
	}
}

// compare holds a schema against the faults that the Go code finds. finer says that the text
// has a fault which no schema can see.
func compare(t *testing.T, name string, raw []byte, v any, faults []policydecl.Fault, finer bool) {
	t.Helper()
	accepts := schemaAccepts(t, name, v)
	switch {
	case finer && len(faults) == 0:
		t.Fatalf("%s: a fault was missed in %q", name, raw)
	case !finer && accepts != (len(faults) == 0):
		t.Fatalf("%s: the schema says %v of %q, the Go code finds %v", name, accepts, raw, faults)
	}
	for _, fault := range faults {
		wellFormed(t, v, fault)
	}
}

// wellFormed checks what every fault must have: a rule, a reason, a pointer that leads
// somewhere or to what is missing, and one line of ASCII.
func wellFormed(t *testing.T, v any, f policydecl.Fault) {
	t.Helper()
	if f.Rule == "" || f.Reason == "" || f.ConfigError == nil || f.Detail == "" {
		t.Fatalf("a fault without a rule, a reason or a detail: %#v", f)
	}
	if text := f.Error(); strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) {
		t.Fatalf("not printable ASCII: %q", text)
	}
	tokens := strings.Split(f.Pointer, "/")[1:]
	if f.Pointer == "" {
		tokens = nil
	}
	for i, token := range tokens {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		var ok bool
		switch c := v.(type) {
		case map[string]any:
			v, ok = c[token]
		case []any:
			var n int
			if json.Unmarshal([]byte(token), &n) == nil && n >= 0 && n < len(c) {
				v, ok = c[n], true
			}
		}
		if !ok && (i < len(tokens)-1 || f.Reason != flowerrors.ReasonMissing) {
			t.Fatalf("%s leads nowhere: %v", f.Pointer, f)
		}
	}
}

// hidden reports whether a text has faults that decoding hides, and so no others.
func hidden(faults []policydecl.Fault) bool {
	return len(faults) > 0 && !slices.ContainsFunc(faults, func(f policydecl.Fault) bool { return f.Rule != policydecl.RuleJSON && f.Rule != "L8" })
}

// compiles asks Compile about a policy, on a server that knows every vendor.
func compiles(t *testing.T, obj map[string]any) bool {
	p, err := policydecl.PolicyOf(obj)
	if err != nil {
		return false
	}
	matchers := map[string]policydecl.Matcher{}
	for _, token := range p.Tokens() {
		if prefix, _, ok := strings.Cut(token, ":"); ok && strings.Contains(prefix, ".") && prefix == strings.ToLower(prefix) {
			matchers[prefix] = never
		}
	}
	_, err = policydecl.Compile(policydecl.Config{URI: ownURI, Default: p, Matchers: matchers})
	return err == nil
}

// wellRead checks what a label without fault reads as.
func wellRead(t *testing.T, raw []byte) {
	l := policydecl.ParseLabel(raw, defaultLimits)
	if l.Class() != policydecl.ClassOK && l.Class() != policydecl.ClassIncomplete {
		t.Fatalf("faultless, but read as %v: %q", l.Class(), raw)
	}
	for _, c := range l.Contributors() {
		if p, q := c.Unusable(); p != "" || q != "" {
			t.Fatalf("faultless, but unusable: %q", raw)
		}
	}
}
