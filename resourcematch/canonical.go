package resourcematch

import (
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// MaxPrincipal is the length in bytes of the longest usable principal (U2). It
// bounds both what is given to [Canonical] and what it returns.
const MaxPrincipal = 2 << 10

// Canonical returns the spelling of a server URI or urn under which it is
// compared with others (U1 to U4): scheme and host in lower case, without the
// default port of the scheme, "/" for an empty path; for a urn, "urn" and the
// namespace id in lower case. Nothing else is equal: dot segments, escapes,
// slashes at the end, queries and the case of paths are compared as they are.
//
// The error is a [*flowerrors.ConfigError] with an empty path if uri is
// unusable (U2): neither http, https nor urn, relative, over [MaxPrincipal], or
// holding userinfo, a fragment, a host that is empty, not ASCII, ends in a dot
// or is not made of letters, digits, "-", "_" and ".", a zone id, a port that is
// empty, padded or out of range, an invalid escape, or any character that
// RFC 3986 does not allow, such as a backslash, a space or a control character.
//
// Canonical is idempotent. It returns uri itself, without allocating, if that
// is canonical already.
func Canonical(uri string) (string, error) {
	switch {
	case uri == "":
		return "", &flowerrors.ConfigError{
			Reason: flowerrors.ReasonMissing,
			Detail: "the URI is empty",
			Hint:   hintPrincipal,
		}
	case len(uri) > MaxPrincipal:
		return "", overPrincipal(uri)
	}
	colon := schemeEnd(uri)
	if colon < 0 {
		return "", unusable(uri, "the URI is not absolute")
	}
	var out, fault string
	switch scheme := uri[:colon]; {
	case equalFold(scheme, "https"):
		out, fault = canonicalHTTP(uri, colon, "https", "443")
	case equalFold(scheme, "http"):
		out, fault = canonicalHTTP(uri, colon, "http", "80")
	case equalFold(scheme, "urn"):
		out, fault = canonicalURN(uri)
	default:
		return "", &flowerrors.ConfigError{
			Value:  uri,
			Reason: flowerrors.ReasonUnsupported,
			Detail: "the scheme is neither https, http nor urn",
			Hint:   hintPrincipal,
		}
	}
	switch {
	case fault != "":
		return "", unusable(uri, fault)
	case len(out) > MaxPrincipal: // the "/" of an empty path was one too many
		return "", overPrincipal(uri)
	}
	return out, nil
}

// Usable reports whether [Canonical] accepts uri.
func Usable(uri string) bool {
	_, err := Canonical(uri)
	return err == nil
}

const hintPrincipal = "write an absolute URI such as https://host.example/mcp, or a urn"

func unusable(uri, detail string) error {
	return &flowerrors.ConfigError{
		Value:  withoutSecret(uri),
		Reason: flowerrors.ReasonURI,
		Detail: detail,
		Hint:   hintPrincipal,
	}
}

func overPrincipal(uri string) error {
	return &flowerrors.ConfigError{
		Value:  uri,
		Reason: flowerrors.ReasonLimit,
		Detail: "the URI is too long",
		Limit:  MaxPrincipal,
	}
}

// canonicalHTTP returns the canonical form, or what is wrong with uri.
func canonicalHTTP(uri string, colon int, scheme, defaultPort string) (out, fault string) {
	rest, ok := strings.CutPrefix(uri[colon+1:], "//")
	if !ok {
		return "", "the URI has no authority"
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	host, port, fault := splitAuthority(authority)
	if fault == "" {
		fault = checkTail(tail)
	}
	if fault != "" {
		return "", fault
	}
	if port == defaultPort {
		port = ""
	}
	slash := ""
	if !strings.HasPrefix(tail, "/") {
		slash = "/"
	}
	// What changes is decided before anything is built, so that a canonical
	// URI costs nothing.
	kept := len(host)
	if port != "" {
		kept += len(":") + len(port)
	}
	if uri[:colon] == scheme && kept == len(authority) && slash == "" && !hasUpper(host) {
		return uri, ""
	}
	var b strings.Builder
	b.Grow(len(uri) + len(slash))
	b.WriteString(scheme)
	b.WriteString("://")
	b.WriteString(lower(host))
	if port != "" {
		b.WriteByte(':')
		b.WriteString(port)
	}
	b.WriteString(slash)
	b.WriteString(tail)
	return b.String(), ""
}

// canonicalURN reads urn:NID:NSS (RFC 8141, section 2) and folds the first two.
// The r- and q-components stay, because U3 compares all the rest exactly.
func canonicalURN(uri string) (out, fault string) {
	const start = len("urn:")
	nid, nss, ok := strings.Cut(uri[start:], ":")
	if !ok {
		return "", "the urn has no namespace-specific part"
	}
	if len(nid) < 2 || len(nid) > 32 || nid[0] == '-' || nid[len(nid)-1] == '-' {
		return "", "the namespace id of the urn is invalid"
	}
	for i := range len(nid) {
		if c := nid[i]; !isAlpha(c) && !isDigit(c) && c != '-' {
			return "", "the namespace id of the urn is invalid"
		}
	}
	if nss == "" || nss[0] == '/' || nss[0] == '?' {
		return "", "the namespace-specific part of the urn is empty or starts with a delimiter"
	}
	if fault := checkTail(nss); fault != "" {
		return "", fault
	}
	head := uri[:start+len(nid)]
	if !hasUpper(head) {
		return uri, ""
	}
	return lower(head) + uri[len(head):], ""
}

// withoutSecret hides user information, which may be a password, from an error.
func withoutSecret(uri string) string {
	start := rootEnd(uri)
	end := len(uri)
	if i := strings.IndexAny(uri[start:], "/?#"); i >= 0 {
		end = start + i
	}
	at := strings.LastIndexByte(uri[start:end], '@')
	if at < 0 {
		return uri
	}
	return uri[:start] + "***" + uri[start+at:]
}
