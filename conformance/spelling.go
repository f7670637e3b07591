package conformance

import (
	"fmt"
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/plain"
)

// spelled asks for a resource by other spellings of its URI. Each must be refused, unless
// the server knows no such resource.
func (c *checker) spelled(spellings []string) {
	sub := c.spellable()
	if sub == nil {
		return
	}
	// What leads past the resource's policy mostly leads to the default.
	one, ok := c.mergeable(sub)
	if !ok {
		one = sub.stranger()
	}
	for _, uri := range spellings {
		if c.askable(sub) == nil || c.lost != nil {
			return
		}
		other := *sub
		other.params = map[string]any{"uri": uri}
		r := c.refuse(&other, labelOf(true, one), nil)
		sub.ran = sub.ran || other.ran
		switch {
		case c.lost != nil:
			return
		case r.silent, r.GotThrough() && !r.disguised, r.Late:
			c.fail(uri+" for "+sub.params["uri"].(string), r.sent, r.got())
		}
		c.Requests++
	}
}

// spellable returns the resource whose spellings are tried, if it is gated at all.
func (c *checker) spellable() *subject {
	sub := c.subjects[routeResources]
	if sub == nil {
		sub = c.subjects[routeTemplates]
	}
	switch {
	case sub == nil:
		c.skip("%s", c.none("no resource"))
		return nil
	case !sub.isRefused():
		c.leave("%s is not refused as it stands", plain.Quote(sub.entry.Name, 80))
		return nil
	}
	return c.askable(sub)
}

// uri returns what is spelled, or "".
func (c *checker) uri() string {
	if sub := c.spellable(); sub != nil {
		return sub.params["uri"].(string)
	}
	return ""
}

func (c *checker) r1() {
	uri := c.uri()
	if uri == "" {
		return
	}
	bare, _, _ := strings.Cut(uri, "#")
	sign := "?"
	if strings.Contains(bare, "?") {
		sign = "&"
	}
	c.spelled([]string{bare + sign + "x=1", bare + sign, bare + "#part", bare + sign + "x=1#part", bare + "#?x=1"})
}

func (c *checker) r2() {
	uri := c.uri()
	if uri == "" {
		return
	}
	path, query := uri, ""
	if i := strings.IndexAny(uri, "?#"); i >= 0 {
		path, query = uri[:i], uri[i:]
	}
	scheme, rest, ok := strings.Cut(path, ":")
	if !ok || rest == "" {
		c.skip("the URI has nothing to spell otherwise")
		return
	}
	last := len(path) - 1
	encoded := fmt.Sprintf("%s%%%02X", path[:last], path[last])
	list := []string{
		strings.ToUpper(scheme) + ":" + rest + query, encoded + query, fmt.Sprintf("%s%%25%02X", path[:last], path[last]) + query,
		path + "/" + query, path + "/." + query, path + "/x/.." + query, path + "//" + query, path + ";a=1" + query, path + "%2F" + query,
	}
	if authority, ok := strings.CutPrefix(rest, "//"); ok && authority != "" {
		host, tail, _ := strings.Cut(authority+"/", "/")
		list = append(list, fmt.Sprintf("%s://%%%02x%s%s", scheme, authority[0], authority[1:], query),
			scheme+"://"+strings.ToUpper(host)+strings.TrimSuffix("/"+tail, "/")+query)
	}
	c.spelled(list)
}
