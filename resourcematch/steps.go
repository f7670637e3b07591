package resourcematch

import "strings"

// rootEnd returns the index in s at which the path starts if the authority
// counts as its first segment: behind "scheme://", "scheme:" or at 0.
func rootEnd(s string) int {
	colon := schemeEnd(s)
	if strings.HasPrefix(s[colon+1:], "//") && colon > 0 {
		return colon + len("://")
	}
	return colon + 1
}

// pathStart returns the index in s at which the path starts, behind the
// authority if there is one.
func pathStart(s string) int {
	root := rootEnd(s)
	if root == 0 || s[root-1] != '/' {
		return root
	}
	if i := strings.IndexAny(s[root:], "/?#"); i >= 0 {
		return root + i
	}
	return len(s)
}

// decode decodes every valid escape once. Invalid ones stay as they are, as
// they would in a handler that decodes leniently; a strict one refuses them.
func decode(s string) string { return decodeExcept(s, "") }

// decodeHarmless decodes once, but for what would become a separator or a new
// escape. It is what normalising per RFC 3986, section 6.2.2.2, amounts to.
func decodeHarmless(s string) string { return decodeExcept(s, `/\?#;%`) }

func decodeExcept(s, keep string) string {
	i := strings.IndexByte(s, '%')
	if i < 0 {
		return s
	}
	var b []byte
	for from := 0; ; {
		if isEscape(s, i) {
			hi, _ := hexValue(s[i+1])
			lo, _ := hexValue(s[i+2])
			if c := hi<<4 | lo; strings.IndexByte(keep, c) < 0 {
				b = append(b, s[from:i]...)
				b = append(b, c)
				from = i + 3
				i += 2
			}
		}
		n := strings.IndexByte(s[i+1:], '%')
		if n < 0 {
			if from == 0 {
				return s
			}
			return string(append(b, s[from:]...))
		}
		i += 1 + n
	}
}

// resolveDots resolves the dot segments of the path and keeps the authority.
func resolveDots(s string) string { return resolveFrom(s, pathStart(s)) }

// resolveAllDots counts the authority as a segment of the path: a handler of
// records://{+path} that cleans the path reads records://a/../b as b.
func resolveAllDots(s string) string { return resolveFrom(s, rootEnd(s)) }

// resolveFrom removes dot segments from s[start:] as RFC 3986, section 5.2.4,
// does it, and likewise from a path without a leading slash. What would leave
// the root stays in it.
func resolveFrom(s string, start int) string {
	if !hasDotSegment(s[start:]) {
		return s
	}
	out := append(make([]byte, 0, len(s)), s[:start]...)
	rest := s[start:]
	if strings.HasPrefix(rest, "/") {
		out = append(out, '/')
		rest = rest[1:]
	}
	floor := len(out)
	for more := true; more; {
		var seg string
		seg, rest, more = strings.Cut(rest, "/")
		switch seg {
		case ".":
		case "..":
			out = popSegment(out, floor)
		default:
			out = append(out, seg...)
			if more {
				out = append(out, '/')
			}
		}
	}
	return string(out)
}

// popSegment removes the last segment, which ends in a slash, from out[floor:].
func popSegment(out []byte, floor int) []byte {
	n := len(out)
	if n == floor {
		return out
	}
	for n--; n > floor && out[n-1] != '/'; n-- {
	}
	return out[:n]
}

func hasDotSegment(path string) bool {
	for more := true; more; {
		var seg string
		seg, path, more = strings.Cut(path, "/")
		if seg == "." || seg == ".." {
			return true
		}
	}
	return false
}

// collapseSlashes removes the empty segments inside the path.
func collapseSlashes(s string) string {
	start := pathStart(s)
	i := strings.Index(s[start:], "//")
	if i < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:start+i]...)
	for i += start; i < len(s); i++ {
		if s[i] != '/' || i == start || s[i-1] != '/' {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// trimRoot removes the empty segments at the start, where the authority would stand,
// unless nothing else is left: a handler of records://{+path} that joins the path to a
// directory reads records:///a and records://%2Fa as records://a. In a URI of the
// scheme file an empty authority is the usual one.
func trimRoot(s string) string {
	root := rootEnd(s)
	if root == 0 || root == len(s) || s[root] != '/' || isFile(s) {
		return s
	}
	if t := strings.TrimLeft(s[root:], "/"); t != "" {
		return s[:root] + t
	}
	return s
}

// enterAuthority spells a pattern without authority as if its first segment were
// one: a handler of memo:{+path} reads memo://a as memo:a.
func enterAuthority(s string) string {
	colon := schemeEnd(s)
	if colon < 0 || isFile(s) || strings.HasPrefix(s[colon+1:], "//") {
		return s
	}
	if t := strings.TrimLeft(s[colon+1:], "/"); t != "" {
		return s[:colon] + "://" + t
	}
	return s
}

// trimSlashes removes the empty segments at the end, unless nothing else is
// left.
func trimSlashes(s string) string {
	if t := strings.TrimRight(s, "/"); len(t) > rootEnd(s) {
		return t
	}
	return s
}

// dropParams removes the parameters of every segment: from ";" up to the next
// slash. The authority counts as a segment.
func dropParams(s string) string {
	root := rootEnd(s)
	i := strings.IndexByte(s[root:], ';')
	if i < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:root+i]...)
	drop := false
	for _, c := range []byte(s[root+i:]) {
		switch c {
		case ';':
			drop = true
		case '/':
			drop = false
		}
		if !drop {
			b = append(b, c)
		}
	}
	return string(b)
}

// turnBackslashes reads "\" as a separator, as handlers on Windows and parsers
// after the WHATWG standard do.
func turnBackslashes(s string) string { return strings.ReplaceAll(s, `\`, "/") }

// dropQuery removes query and fragment (R1).
func dropQuery(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		return s[:i]
	}
	return s
}

// dropFragment removes the fragment alone: a "?" before it may be part of a
// name.
func dropFragment(s string) string {
	if i := strings.IndexByte(s, '#'); i >= 0 {
		return s[:i]
	}
	return s
}

// isFile reports whether the scheme of s is file.
func isFile(s string) bool {
	return len(s) > len("file") && s[len("file")] == ':' && equalFold(s[:len("file")], "file")
}

// dropFileAuthority reads file://host/path and file:/path as file:///path, as
// RFC 8089 allows for this machine and as a handler does that looks at nothing
// but the path.
func dropFileAuthority(s string) string {
	start := pathStart(s)
	if !isFile(s) || !strings.HasPrefix(s[start:], "/") || strings.HasSuffix(s[:start], "//") {
		return s
	}
	return s[:len("file:")] + "//" + s[start:]
}

// enterFileAuthority reads file://dir/name as file:///dir/name, for handlers
// that cut off the scheme by its length.
func enterFileAuthority(s string) string {
	root := rootEnd(s)
	if !isFile(s) || root == len(s) || s[root] == '/' || s[root-1] != '/' {
		return s
	}
	return s[:root] + "/" + s[root:]
}

// foldCase lowers the letters of scheme and authority and raises the
// hexadecimal digits of escapes: they match in either case.
func foldCase(s string) string {
	head := pathStart(s)
	if !hasUpper(s[:head]) {
		return foldEscapes(s)
	}
	return foldEscapes(lower(s[:head]) + s[head:])
}

// foldEscapes raises the hexadecimal digits of valid escapes.
func foldEscapes(s string) string {
	var b []byte
	for i := 0; ; i++ {
		n := strings.IndexByte(s[i:], '%')
		if n < 0 {
			break
		}
		if i += n; isEscape(s, i) && (s[i+1] >= 'a' || s[i+2] >= 'a') {
			if b == nil {
				b = []byte(s)
			}
			b[i+1], b[i+2] = upperHex(s[i+1]), upperHex(s[i+2])
		}
	}
	if b == nil {
		return s
	}
	return string(b)
}

func upperHex(c byte) byte {
	if c >= 'a' {
		return c - ('a' - 'A')
	}
	return c
}
