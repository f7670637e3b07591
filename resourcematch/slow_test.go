package resourcematch_test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// This file is the slow twin of the matcher: the same rules in another way, with
// split strings, regular expressions and recursion where the package has loops
// and a trie. It knows no errors of patterns; it is given what compiles.

var (
	slowRoot   = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9+.-]*:(?://)?)?`)
	slowAuth   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*`)
	slowUpper  = regexp.MustCompile(`[A-Z]+`)
	slowBefore = regexp.MustCompile(`^[^?#]*`)
	slowEscape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	slowExpr   = regexp.MustCompile(`\{([+#&?]?)[^{}]*\}`)
)

func slowSplitRoot(s string) (root, path string) {
	n := len(slowRoot.FindString(s))
	return s[:n], s[n:]
}

func slowSplitPath(s string) (head, path string) {
	if a := slowAuth.FindString(s); a != "" {
		return a, s[len(a):]
	}
	return slowSplitRoot(s)
}

func slowDecode(s string) string {
	return slowEscape.ReplaceAllStringFunc(s, func(e string) string {
		const digits = "0123456789ABCDEF"
		e = strings.ToUpper(e)
		return string([]byte{byte(strings.IndexByte(digits, e[1])<<4 | strings.IndexByte(digits, e[2]))})
	})
}

func slowDecodeHarmless(s string) string {
	return slowEscape.ReplaceAllStringFunc(s, func(e string) string {
		if slices.Contains([]string{"%2F", "%5C", "%3F", "%23", "%3B", "%25"}, strings.ToUpper(e)) {
			return e
		}
		return slowDecode(e)
	})
}

func slowDots(path string) string {
	segs := strings.Split(path, "/")
	lead := ""
	if len(segs) > 1 && segs[0] == "" {
		lead, segs = "/", segs[1:]
	}
	if !slices.Contains(segs, ".") && !slices.Contains(segs, "..") {
		return path
	}
	var stack []string
	for _, seg := range segs {
		switch {
		case seg == ".." && len(stack) > 0:
			stack = stack[:len(stack)-1]
		case seg != "." && seg != "..":
			stack = append(stack, seg)
		}
	}
	out := lead + strings.Join(stack, "/")
	if last := segs[len(segs)-1]; (last == "." || last == "..") && len(stack) > 0 {
		out += "/"
	}
	return out
}

func slowCollapse(path string) string {
	for strings.Contains(path, "//") {
		path = strings.Replace(path, "//", "/", 1)
	}
	return path
}

func slowParams(path string) string {
	segs := strings.Split(path, "/")
	for i := range segs {
		segs[i], _, _ = strings.Cut(segs[i], ";")
	}
	return strings.Join(segs, "/")
}

func slowTrim(s string) string {
	root, path := slowSplitRoot(s)
	if t := strings.TrimRight(path, "/"); t != "" {
		return root + t
	}
	return s
}

// slowRootless drops the slashes behind the root, if something comes after them.
func slowRootless(s string) string {
	root, path := slowSplitRoot(s)
	if t := strings.TrimLeft(path, "/"); root != "" && t != "" && !strings.EqualFold(root[:min(5, len(root))], "file:") {
		return root + t
	}
	return s
}

// slowEntered puts "//" behind the scheme of a pattern that has none there.
func slowEntered(s string) string {
	root, path := slowSplitRoot(s)
	if t := strings.TrimLeft(path, "/"); root != "" && t != "" && !strings.HasSuffix(root, "/") && !strings.EqualFold(root, "file:") {
		return root + "//" + t
	}
	return s
}

func slowFold(s string) string {
	head, path := slowSplitPath(s)
	return slowEscape.ReplaceAllStringFunc(slowLower(head)+path, strings.ToUpper)
}

func slowLower(s string) string {
	return slowUpper.ReplaceAllStringFunc(s, strings.ToLower)
}

func slowSpell(s string) []string {
	head, path := slowSplitPath(s)
	root, rest := slowSplitRoot(s)
	return []string{
		slowDecode(s), slowDecodeHarmless(s),
		head + slowDots(path), root + slowDots(rest), head + slowCollapse(path),
		slowTrim(s), slowRootless(s), strings.Join(strings.Split(s, `\`), "/"),
	}
}

func slowSpellPattern(s string) []string { return append(slowSpell(s), slowEntered(s)) }

func slowRead(s string) []string {
	root, rest := slowSplitRoot(s)
	out := append(slowSpell(s), root+slowParams(rest), slowBefore.FindString(s), strings.Split(s, "#")[0])
	if len(root) >= 5 && strings.EqualFold(root[:5], "file:") && len(root) != len("file:") && rest != "" && rest[0] != '/' {
		out = append(out, root+"/"+rest)
		if head, path := slowSplitPath(s); strings.HasPrefix(path, "/") {
			out = append(out, head[:5]+"//"+path)
		}
	}
	if len(root) == 5 && strings.EqualFold(root, "file:") && strings.HasPrefix(rest, "/") {
		out = append(out, root+"//"+rest)
	}
	return out
}

// slowClosure returns the set of everything that can be made of s, or false if
// it is over budget. A set has no order, so neither has the verdict.
func slowClosure(s string, f func(string) []string) (map[string]bool, bool) {
	set := map[string]bool{s: true}
	for work := []string{s}; len(work) > 0; work = work[1:] {
		for _, next := range f(work[0]) {
			if !set[next] {
				set[next] = true
				work = append(work, next)
			}
		}
		if len(set) > 2*resourcematch.MaxReadings {
			return nil, false
		}
	}
	size := 0
	for r := range set {
		size += len(r)
	}
	return set, len(set) <= resourcematch.MaxReadings && size <= resourcematch.MaxReadingBytes
}

// slowPattern is a template: literals with a wildcard between each two of them.
type slowPattern struct {
	lits []string
	any  []bool // whether the wildcard matches "/" too
}

func (p slowPattern) matches(s string) bool {
	lit := p.lits[0]
	if len(p.lits) == 1 {
		return s == lit
	}
	s, ok := strings.CutPrefix(s, lit)
	if !ok {
		return false
	}
	rest := slowPattern{p.lits[1:], p.any[1:]}
	for i := 0; ; i++ {
		if rest.matches(s[i:]) {
			return true
		}
		if i == len(s) || (s[i] == '/' && !p.any[0]) {
			return false
		}
	}
}

func (p slowPattern) mapped(f func(string) string) slowPattern {
	q := slowPattern{any: p.any}
	for _, lit := range p.lits {
		q.lits = append(q.lits, f(lit))
	}
	return q
}

func (p slowPattern) trimmed() slowPattern {
	q := p.mapped(func(s string) string { return s })
	if n := len(q.lits) - 1; n == 0 {
		q.lits[0] = slowTrim(q.lits[0])
	} else {
		q.lits[n] = strings.TrimRight(q.lits[n], "/")
	}
	return q
}

// rooted takes the steps at the root.
func (p slowPattern) rooted() slowPattern {
	q := p.mapped(func(s string) string { return s })
	root, path := slowSplitRoot(q.lits[0])
	switch {
	case root == "" || strings.EqualFold(root[:min(5, len(root))], "file:"):
	case strings.HasSuffix(root, ":"):
		q.lits[0] = slowEntered(q.lits[0])
	case len(q.lits) > 1 && strings.Trim(path, "/") == "":
		q.lits[0] = root
	default:
		q.lits[0] = slowRootless(q.lits[0])
	}
	return q
}

// folded folds letter by letter: the authority begins behind "://" in the first
// literal and ends at the first delimiter in any, or in the wildcard behind the
// literal with index reach.
func (p slowPattern) folded(reach int) slowPattern {
	q := p.mapped(func(s string) string { return s })
	head, path := slowSplitPath(p.lits[0])
	q.lits[0] = slowLower(head) + path
	open := path == "" && slowAuth.MatchString(p.lits[0])
	for i := 1; i < len(q.lits) && i <= reach && open; i++ {
		n := strings.IndexAny(q.lits[i], "/?#")
		if open = n < 0; open {
			n = len(q.lits[i])
		}
		q.lits[i] = slowLower(q.lits[i][:n]) + q.lits[i][n:]
	}
	return q.mapped(func(s string) string { return slowEscape.ReplaceAllStringFunc(s, strings.ToUpper) })
}

// slowTemplates returns all spellings of a template.
func slowTemplates(text string) []slowPattern {
	parts := slowExpr.FindAllStringSubmatchIndex(text, -1)
	current, from := slowPattern{lits: []string{""}}, 0
	var all []slowPattern
	add := func(lit string) (cut bool) {
		keep := slowBefore.FindString(lit)
		current.lits[len(current.lits)-1] += keep
		return keep != lit
	}
	done := false
	for _, p := range parts {
		if done = add(text[from:p[0]]); done {
			break
		}
		from = p[1]
		switch op := text[p[2]:p[3]]; op {
		case "?", "#":
			all = append(all, slowPattern{slices.Clone(current.lits), slices.Clone(current.any)})
		default:
			current.lits = append(current.lits, "")
			current.any = append(current.any, op != "")
		}
	}
	if !done {
		add(text[from:])
	}
	all = append(all, current)
	for i := 0; i < len(all); i++ {
		p := all[i]
		for _, q := range []slowPattern{
			p.mapped(slowDecode), p.mapped(slowDecodeHarmless),
			p.mapped(func(s string) string { return strings.ReplaceAll(s, `\`, "/") }), p.trimmed(), p.rooted(),
		} {
			if !slices.ContainsFunc(all, func(r slowPattern) bool {
				return slices.Equal(q.lits, r.lits) && slices.Equal(q.any, r.any)
			}) {
				all = append(all, q)
			}
		}
	}
	for _, p := range slices.Clone(all) {
		for reach := range p.lits {
			all = append(all, p.folded(reach))
		}
	}
	return all
}

// slowGoverns reports whether e governs the reading r itself: up to its end, or
// up to any "?" or "#" in it.
func slowGoverns(e resourcematch.Entry, r string) bool {
	ends := []int{len(r)}
	for i := range len(r) {
		if r[i] == '?' || r[i] == '#' {
			ends = append(ends, i)
		}
	}
	if e.Kind == resourcematch.Template {
		for _, p := range slowTemplates(e.Pattern) {
			for _, end := range ends {
				if p.matches(r[:end]) {
					return true
				}
			}
		}
		return false
	}
	uri := slowBefore.FindString(e.Pattern)
	spellings, _ := slowClosure(uri, slowSpellPattern)
	for p := range spellings {
		for _, p := range []string{p, slowFold(p)} {
			if e.Kind == resourcematch.Prefix && strings.HasSuffix(p, "/") {
				if strings.HasPrefix(r, p) {
					return true
				}
				continue
			}
			for _, end := range ends {
				if r[:end] == p {
					return true
				}
			}
		}
	}
	return false
}

// slowMatch is the twin of Match.
func slowMatch(entries []resourcematch.Entry, uri string) (matches []int, bare, ok bool) {
	readings, ok := slowClosure(uri, slowRead)
	if !ok || len(uri) > resourcematch.MaxURI {
		return nil, true, false
	}
	for r := range readings {
		found := false
		for i, e := range entries {
			if slowGoverns(e, r) || slowGoverns(e, slowFold(r)) {
				found = true
				if !slices.Contains(matches, i) {
					matches = append(matches, i)
				}
			}
		}
		bare = bare || !found
	}
	slices.Sort(matches)
	return matches, bare, true
}
