package resourcematch

import (
	"slices"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// maxExpressions bounds the expressions of one template. Each of them adds to
// what a single URI can cost.
const maxExpressions = 64

// wild says what a token matches.
type wild uint8

const (
	literal    wild = iota // its text
	anySegment             // any run of bytes without "/"
	anything               // any run of bytes
)

// token is a part of a pattern.
type token struct {
	wild wild
	lit  string
}

// addTemplate inserts a template under all its spellings.
func (m *Matcher) addTemplate(i int, pattern string) *flowerrors.ConfigError {
	alternatives, fault := parseTemplate(pattern)
	if fault != nil {
		return fault
	}
	for _, tokens := range alternatives {
		spellings, fault := tokenClosure(tokens)
		if fault != nil {
			return fault
		}
		for _, t := range spellings {
			n := m.insert(t)
			n.end = appendOnce(n.end, i)
		}
	}
	return nil
}

// parseTemplate splits a template into tokens. R1 ignores the query, so what
// follows a literal "?" or "#" is dropped. An expression {?…} or {#…} may
// expand to nothing: it yields one alternative that ends there and another one
// that goes on as if it were not there, which is how mcp-go reads it in the
// middle of a template.
func parseTemplate(p string) (alternatives [][]token, fault *flowerrors.ConfigError) {
	var tokens []token
	expressions := 0
	for p != "" {
		i := strings.IndexAny(p, "{}")
		if i < 0 {
			i = len(p)
		}
		if i > 0 {
			text := dropQuery(p[:i])
			if text != "" {
				tokens = append(tokens, token{lit: text})
			}
			if len(text) < i {
				// The rest is query, but it must be well formed all the same.
				if fault := checkExpressions(p[i:]); fault != nil {
					return nil, fault
				}
				break
			}
			p = p[i:]
			continue
		}
		if expressions++; expressions > maxExpressions {
			return nil, &flowerrors.ConfigError{
				Reason: flowerrors.ReasonLimit,
				Detail: "the template has too many expressions",
				Limit:  maxExpressions,
			}
		}
		op, rest, fault := cutExpression(p)
		if fault != nil {
			return nil, fault
		}
		p = rest
		switch op {
		case '?', '#':
			alternatives = append(alternatives, slices.Clone(tokens))
		case '+', '&':
			tokens = appendWild(tokens, anything)
		default:
			tokens = appendWild(tokens, anySegment)
		}
	}
	return append(alternatives, tokens), nil
}

// appendWild appends a wildcard, merged with the one before it: two runs in a
// row are one run, and of the two kinds the wider wins.
func appendWild(tokens []token, w wild) []token {
	if n := len(tokens); n > 0 && tokens[n-1].wild != literal {
		tokens[n-1].wild = max(tokens[n-1].wild, w)
		return tokens
	}
	return append(tokens, token{wild: w})
}

// checkExpressions checks the braces and expressions of p and nothing else.
func checkExpressions(p string) *flowerrors.ConfigError {
	for {
		i := strings.IndexAny(p, "{}")
		if i < 0 {
			return nil
		}
		_, rest, fault := cutExpression(p[i:])
		if fault != nil {
			return fault
		}
		p = rest
	}
}

// cutExpression cuts the expression off p, which starts with a brace. op is 0
// for an expression without operator.
func cutExpression(p string) (op byte, rest string, fault *flowerrors.ConfigError) {
	end := strings.IndexByte(p, '}')
	if p[0] == '}' || end < 0 || strings.IndexByte(p[1:end], '{') >= 0 {
		return 0, "", &flowerrors.ConfigError{
			Reason: flowerrors.ReasonURI,
			Detail: "the braces of the template do not pair",
			Hint:   "write {name}, and %7B or %7D for a brace",
		}
	}
	body, rest := p[1:end], p[end+1:]
	if body != "" && strings.IndexByte("+#./;?&=,!@|", body[0]) >= 0 {
		op, body = body[0], body[1:]
	}
	if strings.IndexByte("./;=,!@|", op) >= 0 && op != 0 {
		return 0, "", &flowerrors.ConfigError{
			Reason: flowerrors.ReasonUnsupported,
			Detail: "the template uses the operator " + string(rune(op)),
			Hint:   "write the separator outside the braces, as in /{name}, or use {+name}",
		}
	}
	for spec := range strings.SplitSeq(body, ",") {
		if !isVarspec(spec) {
			return 0, "", &flowerrors.ConfigError{
				Reason: flowerrors.ReasonURI,
				Detail: "the template has an expression without a valid variable name",
				Hint:   "write {name}",
			}
		}
	}
	return op, rest, nil
}

// isVarspec reports whether s is a variable with at most one modifier
// (RFC 6570, sections 2.3 and 2.4).
func isVarspec(s string) bool {
	name, max, prefix := strings.Cut(s, ":")
	if prefix {
		if max == "" || len(max) > 4 || max[0] == '0' || strings.Trim(max, "0123456789") != "" {
			return false
		}
	} else {
		name = strings.TrimSuffix(name, "*")
	}
	if name == "" || name[0] == '.' || name[len(name)-1] == '.' || strings.Contains(name, "..") {
		return false
	}
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case isAlpha(c), isDigit(c), c == '_', c == '.':
		case isEscape(name, i):
			i += 2
		default:
			return false
		}
	}
	return true
}

// tokenClosure returns all spellings of a template. A dot segment or an empty
// one cannot be judged beside an expression, so only the steps that look at a
// literal by itself are taken.
func tokenClosure(tokens []token) ([][]token, *flowerrors.ConfigError) {
	steps := []func([]token) []token{
		eachLiteral(decode), eachLiteral(decodeHarmless), eachLiteral(turnBackslashes),
		rootTokens, trimTokens,
	}
	out := [][]token{tokens}
	for i := 0; i < len(out); i++ {
		for _, f := range steps {
			next := f(out[i])
			if containsTokens(out, next) {
				continue
			}
			if len(out) == maxReadings {
				return nil, &flowerrors.ConfigError{
					Reason: flowerrors.ReasonLimit,
					Detail: "the template can be read in too many ways",
					Limit:  maxReadings,
				}
			}
			out = append(out, next)
		}
	}
	for _, t := range out[:len(out):len(out)] {
		for reach := range max(len(t), 1) {
			if f := foldTokens(t, reach); !containsTokens(out, f) {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

func containsTokens(list [][]token, t []token) bool {
	return slices.ContainsFunc(list, func(u []token) bool { return slices.Equal(t, u) })
}

func eachLiteral(f step) func([]token) []token {
	return func(tokens []token) []token {
		out := slices.Clone(tokens)
		for i := range out {
			out[i].lit = f(out[i].lit)
		}
		return out
	}
}

// rootTokens takes the steps at the root of a template: trimRoot, and
// enterAuthority where there is anything to enter.
func rootTokens(tokens []token) []token {
	if len(tokens) == 0 || tokens[0].wild != literal {
		return tokens
	}
	out := slices.Clone(tokens)
	lit := out[0].lit
	switch root := rootEnd(lit); {
	case root == 0 || isFile(lit):
	case lit[root-1] == ':':
		out[0].lit = enterAuthority(lit)
	case len(tokens) > 1 && strings.TrimLeft(lit[root:], "/") == "":
		out[0].lit = lit[:root] // what the expression yields comes first
	default:
		out[0].lit = trimRoot(lit)
	}
	return out
}

// trimTokens removes the slashes at the end, as [trimSlashes] does.
func trimTokens(tokens []token) []token {
	n := len(tokens) - 1
	if n < 0 || tokens[n].wild != literal {
		return tokens
	}
	if n == 0 {
		return []token{{lit: trimSlashes(tokens[0].lit)}}
	}
	out := slices.Clone(tokens)
	out[n].lit = strings.TrimRight(out[n].lit, "/")
	if out[n].lit == "" {
		out = out[:n]
	}
	return out
}

// foldTokens folds a template as [foldCase] folds a URI, if the authority ends
// in the token with index reach or before. An expression may hold a slash, so
// the template alone does not tell how far the authority goes.
func foldTokens(tokens []token, reach int) []token {
	out := slices.Clone(tokens)
	inAuthority := true
	for i, t := range tokens {
		if t.wild != literal {
			continue
		}
		head := 0
		if i == 0 {
			head = pathStart(t.lit)
			root := rootEnd(t.lit)
			inAuthority = head == len(t.lit) && root > 0 && t.lit[root-1] == '/'
		} else if inAuthority && i <= reach {
			if head = strings.IndexAny(t.lit, "/?#"); head < 0 {
				head = len(t.lit)
			}
			inAuthority = head == len(t.lit)
		}
		out[i].lit = foldEscapes(lower(t.lit[:head]) + t.lit[head:])
	}
	return out
}
