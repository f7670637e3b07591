package main

import (
	"net/url"
	"strings"
)

// nearly says what two URIs differ in if that is hardly anything. To a policy they are
// as different as any two (P2), and to a reader they look the same.
func nearly(a, b string) string {
	x, err := url.Parse(a)
	if err != nil || x.Scheme == "" {
		return ""
	}
	y, err := url.Parse(b)
	if err != nil || y.Scheme == "" {
		return ""
	}
	var in []string
	differ := func(what, p, q string) {
		if p != q {
			in = append(in, what)
		}
	}
	differ("the scheme", x.Scheme, y.Scheme)
	differ("the port", x.Port(), y.Port())
	p, q := rest(x), rest(y)
	switch {
	case x.Scheme != y.Scheme && (x.Host == "" || y.Host == ""): // a vendor token's prefix is no scheme
		return ""
	case !strings.EqualFold(x.Hostname(), y.Hostname()), !strings.EqualFold(strings.TrimRight(p, "/"), strings.TrimRight(q, "/")):
		return ""
	case strings.TrimRight(p, "/") != strings.TrimRight(q, "/"):
		in = append(in, "letter case")
	case p == q:
		differ("percent-encoding", x.EscapedPath(), y.EscapedPath())
	}
	differ("a trailing slash", p[len(strings.TrimRight(p, "/")):], q[len(strings.TrimRight(q, "/")):])
	differ("the query", x.RawQuery, y.RawQuery)
	differ("the fragment", x.Fragment, y.Fragment)
	if len(in) == 0 || len(in) > 2 {
		return ""
	}
	return "; they differ only in " + strings.Join(in, " and ")
}

// rest is a URI's path, or what takes its place in a urn.
func rest(u *url.URL) string {
	if u.Opaque != "" {
		return u.Opaque
	}
	return u.Path
}
