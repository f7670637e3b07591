package resourcematch_test

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

var canonicals = []struct{ in, want string }{
	// U1, cases 30 to 32.
	{"https://records.example", "https://records.example/"},
	{"https://records.example/", "https://records.example/"},
	{"https://records.example?x=1", "https://records.example/?x=1"},
	{"https://records.example?", "https://records.example/?"},
	{"HTTPS://MCP.Partner.example:443/mcp", "https://mcp.partner.example/mcp"},
	{"https://mcp.partner.example/MCP", "https://mcp.partner.example/MCP"},
	{"https://mcp.partner.example/mcp/", "https://mcp.partner.example/mcp/"},
	{"https://mcp.partner.example/mcp/.", "https://mcp.partner.example/mcp/."},
	{"https://h/a/../b//c;d=1", "https://h/a/../b//c;d=1"},
	{"http://h:80/", "http://h/"},
	{"https://h:80/", "https://h:80/"},
	{"http://h:443", "http://h:443/"},
	{"https://h:65535/?a=b&c=%2F", "https://h:65535/?a=b&c=%2F"},
	{"https://h/%7e%7E", "https://h/%7e%7E"},
	{"https://a_b-c.9/~!$&'()*+,;=:@", "https://a_b-c.9/~!$&'()*+,;=:@"},
	{"https://127.0.0.1:8080/mcp", "https://127.0.0.1:8080/mcp"},
	{"https://[2001:DB8::1]:443/mcp", "https://[2001:db8::1]/mcp"},
	{"https://[::ffff:1.2.3.4]:8443", "https://[::ffff:1.2.3.4]:8443/"},
	// U3.
	{"urn:mcp:user", "urn:mcp:user"},
	{"URN:MCP:User", "urn:mcp:User"},
	{"urn:a-1:b/c?+r?=q", "urn:a-1:b/c?+r?=q"},
	{"urn:uuid:F81D4FAE-7DEC", "urn:uuid:F81D4FAE-7DEC"},
}

var unusables = []struct {
	in     string
	reason flowerrors.Reason
}{
	{"", flowerrors.ReasonMissing},
	{"https://h/" + strings.Repeat("a", resourcematch.MaxPrincipal), flowerrors.ReasonLimit},
	{"https://h?" + strings.Repeat("a", resourcematch.MaxPrincipal-len("https://h?")), flowerrors.ReasonLimit},
	{"ftp://h/", flowerrors.ReasonUnsupported},
	{"records://customers", flowerrors.ReasonUnsupported},
	{"javascript:alert(1)", flowerrors.ReasonUnsupported},
	{"httpss://h/", flowerrors.ReasonUnsupported},
	{"publisher:https://h/", flowerrors.ReasonUnsupported},
	{"/mcp", flowerrors.ReasonURI},
	{"//h/mcp", flowerrors.ReasonURI},
	{"h/mcp", flowerrors.ReasonURI},
	{"h", flowerrors.ReasonURI},
	{":", flowerrors.ReasonURI},
	{"1https://h/", flowerrors.ReasonURI},
	{" https://h/", flowerrors.ReasonURI},
	{"https://h/ ", flowerrors.ReasonURI},
	{"https:", flowerrors.ReasonURI},
	{"https:/h", flowerrors.ReasonURI},
	{"https:h", flowerrors.ReasonURI},
	{"https://", flowerrors.ReasonURI},
	{"https:///mcp", flowerrors.ReasonURI},
	{"https://?x", flowerrors.ReasonURI},
	{"https://:443/", flowerrors.ReasonURI},
	{"https://*", flowerrors.ReasonURI},
	{"https://.*", flowerrors.ReasonURI},
	{"https://h*.example/", flowerrors.ReasonURI},
	{"https://u@h/", flowerrors.ReasonURI},
	{"https://u:p@h/", flowerrors.ReasonURI},
	{"https://@h/", flowerrors.ReasonURI},
	{"https://h/#", flowerrors.ReasonURI},
	{"https://h#f", flowerrors.ReasonURI},
	{"urn:mcp:user#", flowerrors.ReasonURI},
	{"https://h./", flowerrors.ReasonURI},
	{"https://.h/", flowerrors.ReasonURI},
	{"https://a..h/", flowerrors.ReasonURI},
	{"https://h%41/", flowerrors.ReasonURI},
	{"https://hé/", flowerrors.ReasonURI},
	{"https://\u212a/", flowerrors.ReasonURI}, // the Kelvin sign folds to k
	{"https://h/é", flowerrors.ReasonURI},
	{"http\u017f://h/", flowerrors.ReasonURI}, // the long s folds to s
	{`https://h\mcp`, flowerrors.ReasonURI},
	{`https://h/\mcp`, flowerrors.ReasonURI},
	{"https://h/a\tb", flowerrors.ReasonURI},
	{"https://h/a\nb", flowerrors.ReasonURI},
	{"https://h\x00/", flowerrors.ReasonURI},
	{"https://h/\x7f", flowerrors.ReasonURI},
	{"https://h/a b", flowerrors.ReasonURI},
	{"https://h/<a>", flowerrors.ReasonURI},
	{"https://h/{a}", flowerrors.ReasonURI},
	{"https://h/%", flowerrors.ReasonURI},
	{"https://h/%2", flowerrors.ReasonURI},
	{"https://h/%zz", flowerrors.ReasonURI},
	{"https://h/%2g", flowerrors.ReasonURI},
	{"https://h/?%g2", flowerrors.ReasonURI},
	{"https://h:/", flowerrors.ReasonURI},
	{"https://h:0/", flowerrors.ReasonURI},
	{"https://h:0443/", flowerrors.ReasonURI},
	{"https://h:65536/", flowerrors.ReasonURI},
	{"https://h:99999/", flowerrors.ReasonURI},
	{"https://h:123456/", flowerrors.ReasonURI},
	{"https://h:4x3/", flowerrors.ReasonURI},
	{"https://h:-1/", flowerrors.ReasonURI},
	{"https://h:80:80/", flowerrors.ReasonURI},
	{"https://::1/", flowerrors.ReasonURI},
	{"https://[::1/", flowerrors.ReasonURI},
	{"https://[]/", flowerrors.ReasonURI},
	{"https://[1.2.3.4]/", flowerrors.ReasonURI},
	{"https://[::1%25eth0]/", flowerrors.ReasonURI},
	{"https://[fe80::1%eth0]/", flowerrors.ReasonURI},
	{"https://[v1.x]/", flowerrors.ReasonURI},
	{"https://[::1]x/", flowerrors.ReasonURI},
	{"https://[::1]:/", flowerrors.ReasonURI},
	{"https://[" + strings.Repeat("0", 50) + ":]/", flowerrors.ReasonURI},
	{"urn:", flowerrors.ReasonURI},
	{"urn:mcp", flowerrors.ReasonURI},
	{"urn:mcp:", flowerrors.ReasonURI},
	{"urn:m:user", flowerrors.ReasonURI},
	{"urn:-mcp:user", flowerrors.ReasonURI},
	{"urn:mcp-:user", flowerrors.ReasonURI},
	{"urn:m_p:user", flowerrors.ReasonURI},
	{"urn:" + strings.Repeat("a", 33) + ":user", flowerrors.ReasonURI},
	{"urn:mcp:/user", flowerrors.ReasonURI},
	{"urn:mcp:?=user", flowerrors.ReasonURI},
	{"urn:mcp:us er", flowerrors.ReasonURI},
	{"urn:mcp:%zz", flowerrors.ReasonURI},
	{"urn:mcp:\u212a", flowerrors.ReasonURI},
}

// U1 to U4.
func TestCanonical(t *testing.T) {
	for _, tc := range canonicals {
		got, err := resourcematch.Canonical(tc.in)
		if err != nil || got != tc.want || !resourcematch.Usable(tc.in) {
			t.Errorf("%q: got %q, %v, want %q", tc.in, got, err, tc.want)
		}
	}
	longest := "https://h/" + strings.Repeat("a", resourcematch.MaxPrincipal-len("https://h/"))
	if got, err := resourcematch.Canonical(longest); err != nil || got != longest {
		t.Errorf("the longest URI: got %v", err)
	}
}

// U2.
func TestCanonicalUnusable(t *testing.T) {
	for _, tc := range unusables {
		got, err := resourcematch.Canonical(tc.in)
		var e *flowerrors.ConfigError
		if got != "" || !errors.As(err, &e) || resourcematch.Usable(tc.in) {
			t.Errorf("%q: got %q, %v, want it to be unusable", tc.in, got, err)
			continue
		}
		shown := tc.in
		if i := strings.IndexByte(tc.in, '@'); e.Detail == "the URI holds user information" {
			shown = "https://***" + tc.in[i:] // it may be a password
		}
		if e.Reason != tc.reason || e.Value != shown || e.Path != "" || e.Detail == "" {
			t.Errorf("%q: got %#v, want reason %s", tc.in, e, tc.reason)
		}
		if e.Reason == flowerrors.ReasonLimit && e.Limit != resourcematch.MaxPrincipal {
			t.Errorf("%q: got limit %d", tc.in, e.Limit)
		}
	}
}

// Cases 33 and 34: neighbours are not equal.
func TestCanonicalDistinct(t *testing.T) {
	distinct := []string{
		"https://records.example/mcp", "https://records.example/mcp/", "https://records.example/MCP",
		"https://records.example/mcp/.", "https://records.example/mcp-evil", "https://records.example/mcp/x",
		"https://records.example.evil.example/mcp", "https://records.example:80/mcp", "http://records.example/mcp",
		"https://records.example/mcp?", "https://records.example/%6dcp", "https://foo.example/m",
		"https://bar.example/m", "https://barfoo.example/m", "https://acme.example/p.json",
		"https://acme.example/p.json.evil", "urn:mcp:user", "urn:mcp:USER", "urn:mcp:host", "urn:mcq:user",
	}
	seen := map[string]string{}
	for _, s := range distinct {
		c, err := resourcematch.Canonical(s)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if other, ok := seen[c]; ok {
			t.Errorf("%q equals %q", s, other)
		}
		seen[c] = s
	}
}

var (
	slowChars = regexp.MustCompile(`^(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*$`)
	slowHost  = regexp.MustCompile(`^(?:[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\])$`)
	slowURN   = regexp.MustCompile(`^(?i:urn):([A-Za-z0-9](?:[A-Za-z0-9-]{0,30})[A-Za-z0-9]):([^/?].*)$`)
)

// slowCanonical is a twin of Canonical over net/url and regular expressions.
func slowCanonical(s string) (string, bool) {
	if len(s) > resourcematch.MaxPrincipal || strings.Contains(s, "#") {
		return "", false
	}
	if m := slowURN.FindStringSubmatch(s); m != nil {
		return "urn:" + strings.ToLower(m[1]) + ":" + m[2], slowChars.MatchString(m[2])
	}
	u, err := url.Parse(s)
	if err != nil || u.User != nil || !slowHost.MatchString(strings.TrimSuffix(u.Host, ":"+u.Port())) {
		return "", false
	}
	_, tail, _ := strings.Cut(s, "://")
	tail = tail[min(len(u.Host), len(tail)):]
	if !slowChars.MatchString(tail) {
		return "", false
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(u.Host, "[") {
		if !strings.Contains(host, ":") || net.ParseIP(host) == nil {
			return "", false
		}
		host = "[" + host + "]"
	}
	if strings.HasSuffix(u.Host, ":") {
		return "", false
	}
	if port != "" {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port {
			return "", false
		}
		if (u.Scheme == "https" && n == 443) || (u.Scheme == "http" && n == 80) {
			port = ""
		} else {
			port = ":" + port
		}
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return "", false
	}
	if u.Path == "" {
		tail = "/" + tail
	}
	out := u.Scheme + "://" + host + port + tail
	return out, len(out) <= resourcematch.MaxPrincipal
}

func FuzzCanonical(f *testing.F) {
	for _, tc := range canonicals {
		f.Add(tc.in)
	}
	for _, tc := range unusables {
		if len(tc.in) < 1<<8 {
			f.Add(tc.in)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := resourcematch.Canonical(s)
		want, ok := slowCanonical(s)
		if ok != (err == nil) || (ok && got != want) {
			t.Fatalf("%q: got %q, %v, want %q, %t", s, got, err, want, ok)
		}
		if !ok {
			return
		}
		again, err := resourcematch.Canonical(got)
		if err != nil || again != got {
			t.Fatalf("%q: not idempotent: %q becomes %q, %v", s, got, again, err)
		}
	})
}
