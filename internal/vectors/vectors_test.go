package vectors_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/flowgate-mcp/flowgate/internal/vectors"
)

// good is a file that Parse takes.
const good = `{"format":1,"kind":"uris","count":2,"vectors":[
	{"id":"uris/a","about":"x","rules":["U1"],"uri":"https://h.example","canonical":"https://h.example/"},
	{"id":"uris/b","about":"x","rules":["U2","L5"],"prototype":["1.1","34.2"],"uri":["a",{"repeat":"bc","times":2},{"base64":"/w=="}],"canonical":null}]}`

func TestParse(t *testing.T) {
	list, err := vectors.Parse[vectors.URI]([]byte(good), "uris")
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if got := string(list[1].URI); got != "abcbc\xff" {
		t.Errorf("the parts make %q", got)
	}
	if list[0].Canonical == nil || list[1].Canonical != nil {
		t.Error("null is not told from a text")
	}
}

// A file with any mistake is refused as a whole.
func TestParseRefuses(t *testing.T) {
	for name, change := range map[string][2]string{
		"unknown member":     {`"canonical":null`, `"canonical":null,"also":1`},
		"other case":         {`"uri":["a"`, `"URI":["a"`},
		"duplicate member":   {`"about":"x","rules":["U1"]`, `"about":"x","about":"y","rules":["U1"]`},
		"wrong type":         {`"rules":["U1"]`, `"rules":"U1"`},
		"format":             {`"format":1`, `"format":2`},
		"kind":               {`"kind":"uris"`, `"kind":"labels"`},
		"count":              {`"count":2`, `"count":3`},
		"no vectors":         {good[strings.Index(good, `[`):], `[]}`},
		"id twice":           {`uris/b`, `uris/a`},
		"id of another kind": {`uris/b`, `labels/b`},
		"id":                 {`uris/b`, `uris/B b`},
		"no text":            {`"about":"x","rules":["U1"]`, `"about":"","rules":["U1"]`},
		"no rules":           {`["U1"]`, `[]`},
		"no such rule":       {`"U1"`, `"U5"`},
		"no such test":       {`"34.2"`, `"35.1"`},
		"no such assertion":  {`"34.2"`, `"34.3"`},
		"another spelling":   {`"1.1"`, `"01.1"`},
		"no parts":           {`["a",{"repeat":"bc","times":2},{"base64":"/w=="}]`, `[]`},
		"part of two kinds":  {`"times":2`, `"times":2,"base64":"/w=="`},
		"part of no kind":    {`{"repeat":"bc","times":2}`, `{"times":2}`},
		"part":               {`{"repeat":"bc","times":2}`, `7`},
		"too long":           {`"times":2`, `"times":99999999`},
		"never":              {`"times":2`, `"times":0`},
		"not base64":         {`"/w=="`, `"?"`},
		"something follows":  {`"canonical":null}]}`, `"canonical":null}]} x`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if text == good {
			t.Fatalf("%s: nothing was changed", name)
		}
		if list, err := vectors.Parse[vectors.URI]([]byte(text), "uris"); err == nil {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

func TestSame(t *testing.T) {
	if !vectors.Same([]byte(`{"a":1,"b":[2, "\u0063"]}`), []byte(`{"b":[2,"c"],"a":1.0}`)) {
		t.Error("one value in two spellings is two")
	}
	for _, other := range []string{`{"a":2}`, `{"a":1,"b":1}`, `[1]`, `{"a":1,"a":1}`, `{`} {
		if vectors.Same([]byte(`{"a":1}`), []byte(other)) {
			t.Errorf("the same as %s", other)
		}
	}
}

// unsaid are the assertions of the prototype that no vector can make, and why.
var unsaid = map[string]string{
	"18.2": "a base answer that is neither yes nor no: here it is a boolean",
}

// The vectors assert everything that the tests of the draft's prototype do, assertion by
// assertion.
func TestPrototypeIsCovered(t *testing.T) {
	covered := assertedByVectors(t)
	for test, asserts := range vectors.PrototypeAsserts {
		for n := range asserts {
			name := vectors.AssertName(test, n)
			if _, excused := unsaid[name]; excused == covered[name] {
				t.Errorf("assertion %s of the prototype: made by a vector %v, excused %v", name, covered[name], excused)
			}
			delete(covered, name)
		}
	}
	for name := range covered {
		t.Errorf("the prototype has no assertion %s", name)
	}
}

// assertedByVectors returns the names of all assertions that the vectors say they make.
func assertedByVectors(t *testing.T) map[string]bool {
	t.Helper()
	dir, err := vectors.Dir()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	covered := map[string]bool{}
	for _, name := range files {
		var file struct {
			Vectors []vectors.Head `json:"vectors"`
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, v := range file.Vectors {
			for _, assertion := range v.Prototype {
				covered[assertion] = true
			}
		}
	}
	return covered
}
