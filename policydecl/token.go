package policydecl

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

const (
	tokenSelf       = "self"
	publisherPrefix = "publisher:"
)

// tokenKind says what a token is compared with (P1).
type tokenKind uint8

const (
	kindInert     tokenKind = iota // unknown shape: matches nothing (P3)
	kindSelf                       // the recipient's own URI (P2)
	kindAssurance                  // an assurance state
	kindPublisher                  // a contributor's publisher
	kindPrincipal                  // a contributor's principal
	kindVendor                     // decided by a registered Matcher (P3)
)

// token is one parsed entry of acceptFrom.
type token struct {
	kind      tokenKind
	assurance Assurance // of kindAssurance
	key       string    // canonical URI, or the prefix of a vendor token
}

// tokenHint names the way out of a token nobody can understand.
const tokenHint = `use "self", "user", "host", "verified", "tofu", "unverified", ` +
	`"publisher:<URI>", an absolute http(s) or urn URI, or a vendor token such as "com.example.tier:gold"`

// isWord reports whether s is one of the tokens that are words.
func isWord(s string) bool {
	_, ok := ParseAssurance(s)
	return ok || s == tokenSelf
}

// parseToken classifies s. A mistake (P6) is returned without a path, together with
// an inert token: a token that is wrong matches nothing.
func parseToken(s string) (token, *flowerrors.ConfigError) {
	if s == tokenSelf {
		return token{kind: kindSelf}, nil
	}
	if a, ok := ParseAssurance(s); ok {
		return token{kind: kindAssurance, assurance: a}, nil
	}
	if uri, ok := strings.CutPrefix(s, publisherPrefix); ok {
		return parseURI(kindPublisher, s, uri)
	}
	if scheme, _, ok := strings.Cut(s, ":"); ok && knownScheme(scheme) {
		return parseURI(kindPrincipal, s, s)
	}
	if prefix, ok := vendorPrefix(s); ok {
		return token{kind: kindVendor, key: prefix}, nil
	}
	hint := tokenHint
	if parts := strings.FieldsFunc(s, func(c rune) bool { return c == ',' || c == ' ' }); len(parts) > 1 && !slices.ContainsFunc(parts, func(p string) bool { return !isWord(p) }) {
		hint = "write " + strconv.Itoa(len(parts)) + " tokens, each in quotes of its own"
	} else if near := strings.ToLower(strings.TrimSpace(s)); near != s && isWord(near) {
		hint = "write " + strconv.Quote(near)
	}
	return token{}, &flowerrors.ConfigError{
		Value: s, Reason: flowerrors.ReasonUnknownToken,
		Detail: "not a token of acceptFrom; it would match nothing", Hint: hint,
	}
}

// knownScheme reports whether URIs of the scheme can be principals (P1). Schemes are
// compared without regard to letter case (U1).
func knownScheme(scheme string) bool {
	return strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "urn")
}

// parseURI canonicalises the URI of the token s.
func parseURI(kind tokenKind, s, uri string) (token, *flowerrors.ConfigError) {
	canonical, fault := principalURI(uri)
	if fault != nil {
		fault.Value = s
		if kind == kindPublisher && fault.Reason != flowerrors.ReasonNeverMatches {
			fault.Hint = "write " + publisherPrefix + " and an absolute URI, as in publisher:https://acme.example/publisher.json"
		}
		return token{}, fault
	}
	return token{kind: kind, key: canonical}, nil
}

// principalURI canonicalises a URI that somebody configures (U4). It refuses one
// with an asterisk: the author means a wildcard, and there is none, so the
// pattern could never match what was meant (P6).
func principalURI(uri string) (string, *flowerrors.ConfigError) {
	if strings.Contains(uri, "*") {
		return "", &flowerrors.ConfigError{
			Value: uri, Reason: flowerrors.ReasonNeverMatches,
			Detail: "there are no wildcards; URIs are compared whole", Hint: "list each URI",
		}
	}
	canonical, err := resourcematch.Canonical(uri)
	if err == nil {
		return canonical, nil
	}
	fault := &flowerrors.ConfigError{Reason: flowerrors.ReasonURI, Detail: "not usable as a principal"}
	var ce *flowerrors.ConfigError
	if errors.As(err, &ce) {
		clone := *ce
		fault = &clone
	}
	fault.Path, fault.Value = "", uri
	return "", fault
}

// vendorPrefix returns the prefix of a vendor token (P1): at least two
// labels in reverse-DNS order, in lower case, then a colon and a value of visible
// ASCII. The dot keeps vendor tokens apart from "publisher:" and from the schemes of
// principals.
func vendorPrefix(s string) (string, bool) {
	prefix, value, ok := strings.Cut(s, ":")
	if !ok || value == "" || len(s) > resourcematch.MaxPrincipal || !validVendorPrefix(prefix) {
		return "", false
	}
	for i := range len(value) {
		if value[i] <= ' ' || value[i] > '~' {
			return "", false
		}
	}
	return prefix, true
}

// validVendorPrefix reports whether prefix is a reverse-DNS name of at least two
// labels, each of lower-case letters, digits and inner hyphens, the first beginning
// with a letter.
func validVendorPrefix(prefix string) bool {
	labels := strings.Split(prefix, ".")
	if len(labels) < 2 || labels[0] == "" || labels[0][0] < 'a' || labels[0][0] > 'z' {
		return false
	}
	for _, label := range labels {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
	}
	return true
}
