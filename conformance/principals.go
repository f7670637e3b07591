package conformance

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/policydecl"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// The ways in which a token names somebody.
const (
	byPrincipal = "principal"
	byURN       = "urn"
	byPublisher = "publisher"
	bySelf      = "self"
)

// naming is a policy that names somebody in one of these ways.
type naming struct {
	*subject
	by, uri string
}

// naming returns a policy that names somebody so, with the URI. That of self is empty if
// nobody has said what it is.
func (c *checker) naming(by string) *naming {
	n := naming{by: by}
	n.subject = c.others(func(s *subject) bool {
		for _, token := range s.Policy.Tokens() {
			if how, uri := wayOf(token); how == by {
				n.uri = uri
				return true
			}
		}
		return false
	})
	switch {
	case n.subject == nil:
		return nil
	case by == bySelf:
		n.uri = c.opts.Self
	}
	return &n
}

// wayOf returns how a token names somebody, or "", and by which URI.
func wayOf(token string) (by, uri string) {
	publisher, isPublisher := strings.CutPrefix(token, "publisher:")
	switch {
	case token == judge.TokenSelf:
		return bySelf, ""
	case isPublisher && isWeb(publisher):
		return byPublisher, publisher
	case isWeb(token):
		return byPrincipal, token
	case resourcematch.Usable(token):
		return byURN, token
	}
	return "", ""
}

// isWeb reports whether a URI is a usable one with a host.
func isWeb(uri string) bool { return resourcematch.Usable(uri) && strings.Contains(uri, "://") }

// called returns a contributor who has a URI for the name that the policy names.
func (n *naming) called(uri string) policydecl.Contributor {
	if n.by == byPublisher {
		return policydecl.NewContributor(n.Marker, n.state(), uri)
	}
	return policydecl.NewContributor(uri, n.state(), "")
}

// state is one in which a stranger is refused: that of whoever has a name as a rule.
func (s *subject) state() policydecl.Assurance {
	if slices.Contains(s.refusing, policydecl.Verified) {
		return policydecl.Verified
	}
	return s.refusing[0]
}

// called sends contributors with names in other spellings. The policy says of each whether
// it is accepted.
func (c *checker) called(n *naming, about string, uris ...string) {
	for _, uri := range uris {
		one := n.called(uri)
		if what := about + " " + uri; n.Accepts(policydecl.BuildLabel(true, one)) {
			c.spares(n.subject, what, one)
		} else {
			c.refuses(n.subject, what, labelOf(true, one))
		}
	}
}

// spares sends an accepted contributor beside a stranger. That it is accepted shows in that
// the refusal does not name it, and nothing has to run for that.
func (c *checker) spares(sub *subject, about string, one policydecl.Contributor) {
	if c.askable(sub) == nil || c.lost != nil {
		return
	}
	label := labelOf(true, sub.stranger(), one)
	r := c.refuse(sub, label, nil)
	before := c.Requests
	if !c.wasRefused(about, r) {
		return
	}
	want := sub.want(label)
	hidden := r.Violation == nil || len(r.Violation.Rejected) == 0 ||
		one.Assurance() == sub.stranger().Assurance() && !anyNamed(r.Violation.Rejected)
	switch {
	case hidden:
		c.Requests = before
		c.leave("the refusals do not show whom they reject (X4), so it cannot be seen whom they do not")
	case !names(r.Violation, want):
		c.fail(about, r.sent, "the refusal names others than "+list(want)+": "+r.got())
	}
}

// noSelf is said where nobody has told the server's own URI.
const noSelf = "nobody has said what the server's own URI is"

// p2 tries the word self, whoever has nearly the server's own URI, and the server itself.
func (c *checker) p2() {
	if !c.gated() {
		return
	}
	n := c.naming(bySelf)
	if n == nil {
		c.skip("no policy that can be tried names self")
		return
	}
	state := quote(n.state().String())
	for _, text := range []string{
		contributor(`"self"`, state), contributor(quote(n.Marker), `"self"`), contributor(`"urn:mcp:self"`, state),
		`{"principal":` + quote(n.Marker) + `,"publisher":"self","assurance":` + state + `}`,
	} {
		c.stops(n.subject, "somebody by the word self", `{"contributors":[`+text+`],"complete":true}`)
	}
	own, err := url.Parse(n.uri)
	if err != nil || own.Host == "" {
		c.leave("%s, so nothing like it was tried", noSelf)
		return
	}
	c.refuses(n.subject, "another whose publisher is the server", labelOf(true, policydecl.NewContributor(n.Marker, n.state(), n.uri)))
	below, beside := *own, *own
	below.Host, beside.Host = "flowgate-conformance."+own.Host, own.Hostname()+".invalid"
	c.called(n, "another server", own.JoinPath("flowgate-conformance").String(), below.String(), beside.String())
	c.called(n, "the server itself", n.uri)
}

// u1 tries other spellings of the name in a policy.
func (c *checker) u1() {
	if !c.gated() {
		return
	}
	n := c.naming(byPrincipal)
	if n == nil {
		n = c.naming(bySelf)
	}
	switch {
	case n == nil:
		c.skip("no policy that can be tried names anybody by a URI")
	case n.uri == "":
		c.skip("policies name nobody but self by a URI, and %s", noSelf)
	case isWeb(n.uri):
		c.called(n, "the "+n.by, webSpellings(n.uri)...)
	default:
		c.skip("policies name nobody but self by a URI, and that is a urn")
	}
}

// webSpellings are spellings of an http or https URI: first those which mean the same, if
// there are such.
func webSpellings(uri string) []string {
	scheme, rest, _ := strings.Cut(uri, "://")
	end := strings.IndexAny(rest+"/", "/?#")
	host, path := rest[:end], rest[end:]
	ports, other := [2]string{"443", "80"}, "http"
	if strings.EqualFold(scheme, "http") {
		ports, other = [2]string{"80", "443"}, "https"
	}
	bare := host
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		bare = host[:i]
	}
	from := scheme + "://"
	list := []string{
		strings.ToUpper(scheme) + "://" + host + path, from + strings.ToUpper(host) + path, from + bare + ":" + ports[0] + path,
		from + host + path + "/", from + host + strings.ToUpper(path), from + host + path + "/.", from + host + path + "/x/..",
		from + host + "//" + strings.TrimPrefix(path, "/"), from + host + path + "?x=1", from + bare + ":" + ports[1] + path, other + "://" + host + path,
	}
	if last := len(path) - 1; last > 0 {
		list = append(list, from+host+path[:last]+escaped(path[last]))
	} else {
		list = append(list, from+host, from+host+"/")
	}
	return distinct(list, uri)
}

// escaped writes a character as a URI can.
func escaped(c byte) string { return fmt.Sprintf("%%%02X", c) }

// distinct leaves out repetitions and the one spelling that is tried everywhere.
func distinct(list []string, but string) []string {
	var out []string
	for _, text := range list {
		if text != but && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// u2 tries names that look like one in a policy, or like a stranger's, and are unusable.
func (c *checker) u2() {
	sub := c.subject()
	if sub == nil {
		return
	}
	name := sub.Marker
	for _, by := range []string{byPrincipal, bySelf} {
		if n := c.naming(by); n != nil && isWeb(n.uri) {
			sub, name = n.subject, n.uri
			break
		}
	}
	state := quote(sub.state().String())
	for _, principal := range odd(name) {
		c.refuses(sub, "principal "+principal, `{"contributors":[`+contributor(quote(principal), state)+`],"complete":true}`)
	}
}

// odd writes a URI in ways that others may read as the same one.
func odd(uri string) []string {
	scheme, rest, _ := strings.Cut(uri, "://")
	host, path, _ := strings.Cut(rest, "/")
	name, port, _ := strings.Cut(host, ":")
	if port != "" {
		port = ":" + port
	}
	from, path := scheme+"://", "/"+path
	return []string{
		"//" + rest, scheme + ":" + rest, scheme + `:\\` + host + path, from + "user@" + host + path, from + path,
		from + name + "." + port + path, from + "[fe80::1%25eth0]" + path, from + wide(name) + port + path,
		uri + "#part", uri + "%zz", uri + "%", uri + `\`, uri + "\t", uri + "\u0000",
	}
}

// wide writes the first letter of a host as one that some take for the same.
func wide(host string) string {
	if host == "" || host[0] < '!' || host[0] > '~' {
		return "\uff41" + host
	}
	return string(rune(host[0])-'!'+'\uff01') + host[1:]
}

// u3 tries other spellings of a urn in a policy.
func (c *checker) u3() {
	if !c.gated() {
		return
	}
	n := c.naming(byURN)
	if n == nil {
		c.skip("no policy that can be tried names a urn")
		return
	}
	scheme, rest, _ := strings.Cut(n.uri, ":")
	space, name, _ := strings.Cut(rest, ":")
	from, last := scheme+":"+space+":", len(name)-1
	c.called(n, "the urn", distinct([]string{
		strings.ToUpper(scheme) + ":" + rest, scheme + ":" + strings.ToUpper(space) + ":" + name,
		from + strings.ToUpper(name), from + strings.ToLower(name), from + name[:last] + escaped(name[last]),
		from + name + "?=x", from + name + "?+x", from + name + "/", from + name + ":x", scheme + ":" + space + "x:" + name,
	}, n.uri)...)
}

// u4 tries spellings of the names in policies that u1 has left.
func (c *checker) u4() {
	if !c.gated() {
		return
	}
	tried := false
	for _, by := range []string{bySelf, byPublisher} {
		n := c.naming(by)
		if n == nil || !isWeb(n.uri) {
			continue
		}
		tried = true
		c.called(n, "the "+by, webSpellings(n.uri)...)
	}
	if !tried {
		c.skip("no policy that can be tried names a publisher, or a self of which the URI is known")
	}
}
