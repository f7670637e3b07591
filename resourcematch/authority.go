package resourcematch

import (
	"net/netip"
	"strconv"
	"strings"
)

// splitAuthority splits the authority of an http or https URI, or says why it
// is unusable (U2). The port is empty if there is none.
func splitAuthority(authority string) (host, port, fault string) {
	if strings.IndexByte(authority, '@') >= 0 {
		return "", "", "the URI holds user information"
	}
	end := len(authority)
	if strings.HasPrefix(authority, "[") {
		i := strings.IndexByte(authority, ']')
		if i < 0 || !isIPv6(authority[1:i]) {
			return "", "", "the address in brackets is not a plain IPv6 address"
		}
		end = i + 1
	} else if i := strings.IndexByte(authority, ':'); i >= 0 {
		end = i
	}
	host, port = authority[:end], authority[end:]
	if host == "" || host[0] != '[' {
		if fault := checkHost(host); fault != "" {
			return "", "", fault
		}
	}
	if port == "" {
		return host, "", ""
	}
	port, ok := strings.CutPrefix(port, ":")
	if !ok || !isPort(port) {
		return "", "", "the port is not a number from 1 to 65535 without padding"
	}
	return host, port, ""
}

// isIPv6 reports whether s is an IPv6 address without zone (U2).
func isIPv6(s string) bool {
	// Longer texts need not be parsed to be refused.
	const longest = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")
	if len(s) > longest || strings.IndexByte(s, ':') < 0 {
		return false
	}
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}

// checkHost is stricter than RFC 3986: escapes and sub-delimiters have no use
// in a host, and with them "https://*" would be a URI (P6, case 34).
func checkHost(host string) (fault string) {
	switch {
	case host == "":
		return "the URI has no host"
	case host[len(host)-1] == '.':
		return "the host ends in a dot"
	case host[0] == '.' || strings.Contains(host, ".."):
		return "the host has an empty label"
	}
	for i := range len(host) {
		if c := host[i]; !isAlpha(c) && !isDigit(c) && c != '-' && c != '.' && c != '_' {
			return "the host holds something other than ASCII letters, digits, '-', '_' and '.'"
		}
	}
	return ""
}

func isPort(s string) bool {
	if s == "" || len(s) > len("65535") || s[0] == '0' {
		return false
	}
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	n, _ := strconv.Atoi(s) // at most five digits
	return n <= 65535
}

// checkTail checks what follows the authority or the namespace id.
func checkTail(s string) (fault string) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%':
			if !isEscape(s, i) {
				return "the URI holds an invalid percent escape"
			}
			i += 2
		case c == '#':
			return "the URI has a fragment"
		case c == '\\':
			return "the URI holds a backslash"
		case c < ' ' || c == 0x7f:
			return "the URI holds a control character"
		case c >= 0x80:
			return "the URI holds a character that is not ASCII"
		case !isURIChar[c]:
			return "the URI holds a character that must be escaped"
		}
	}
	return ""
}

// isURIChar holds the characters of RFC 3986 that may stand unescaped in a path
// or a query: unreserved, sub-delims, ":", "@", "/" and "?".
var isURIChar = func() (set [0x80]bool) {
	for c := range byte(0x80) {
		set[c] = isAlpha(c) || isDigit(c) || strings.IndexByte("-._~!$&'()*+,;=:@/?", c) >= 0
	}
	return set
}()
