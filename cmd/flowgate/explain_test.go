package main

import (
	"os"
	"path/filepath"
	"testing"
)

const (
	userLabel     = `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}],"complete":true}`
	strangerLabel = `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"},{"principal":"https://fetch.example/mcp","assurance":"unverified","publisher":"https://acme.example/p.json"}],"complete":true}`
)

func TestExplain(t *testing.T) {
	const self = "https://records.example/mcp"
	for name, tt := range map[string]struct {
		args   []string
		status int
	}{
		"accepted":   {[]string{"-policy", "self,user", "-self", self, "-label", userLabel}, 0},
		"refused":    {[]string{"-policy", "self, user, publisher:https://other.example/p.json", "-self", self, "-label", strangerLabel}, 1},
		"absent":     {[]string{"-policy", "user", "-label", ""}, 1},
		"null":       {[]string{"-policy", "null", "-self", self, "-label", "null"}, 1},
		"incomplete": {[]string{"-policy", "user", "-label", `{"contributors":[{"assurance":"user"}]}`}, 1},
		"malformed":  {[]string{"-policy", `{"acceptFrom":["unverified"]}`, "-label", `{"contributors":7}`}, 1},
		"nobody":     {[]string{"-policy", "", "-label", userLabel}, 1},
		"vendor":     {[]string{"-policy", "user,com.example.tier:gold", "-label", strangerLabel}, 1},
		"faults":     {[]string{"-policy", `{"acceptFrom":["User","user"],"x":1}`, "-label", `{"contributors":[{"assurance":"user","principal":"not a uri\u001b[31m"}],"complete":true}`}, 1},
		"unreadable": {[]string{"-policy", `{"acceptFrom":"user"}`, "-self", self, "-label", userLabel}, 1},
		"no-json":    {[]string{"-policy", `{"acceptFrom":[`, "-self", self, "-label", `{"contributors`}, 1},
		"array":      {[]string{"-policy", `["self","user"]`, "-label", userLabel}, 1},
		"no-self":    {[]string{"-policy", "[self host]", "-label", userLabel}, 1},
		"near":       {[]string{"-policy", "self", "-self", self, "-label", `{"params":{"_meta":{"io.modelcontextprotocol/flowOrigin":{"contributors":[{"principal":"` + self + `/","assurance":"verified"}],"complete":true}}}}`}, 1},
		"unverified": {[]string{"-policy", "unverified"}, 0},
	} {
		r := flowgate(t, append([]string{"explain"}, tt.args...)...)
		r.wants(t, tt.status)
		r.golden(t, "explain-"+name)
		flowgate(t, append([]string{"explain", "-json"}, tt.args...)...).golden(t, "explain-"+name+"-json")
	}
}

// The places that a policy and a label can come from give the same answer.
func TestExplainArguments(t *testing.T) {
	dir := t.TempDir()
	policy, label := filepath.Join(dir, "policy"), filepath.Join(dir, "label")
	for file, text := range map[string]string{policy: ` {"acceptFrom":["user"]} ` + "\n", label: userLabel + "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := flowgate(t, "explain", "-policy", "user", "-label", userLabel)
	want.wants(t, 0, "accepted by user")
	for _, r := range []ran{
		flowgate(t, "explain", "-policy", "@"+policy, "-label", "@"+label),
		flowgateWith(t.Context(), t, userLabel, "explain", "-policy", `{"acceptFrom":["user"]}`, "-label", "-"),
	} {
		if r.out != want.out || r.status != 0 {
			t.Errorf("%s", r.out)
		}
	}
}
