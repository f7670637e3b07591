package resourcematch

// The helpers of this file know ASCII only: neither scheme, host nor escape
// may change with the tables of Unicode.

func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func hexValue(c byte) (v byte, ok bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// isEscape reports whether a valid percent escape starts at s[i].
func isEscape(s string, i int) bool {
	if s[i] != '%' || i+2 >= len(s) {
		return false
	}
	_, hi := hexValue(s[i+1])
	_, lo := hexValue(s[i+2])
	return hi && lo
}

func hasUpper(s string) bool {
	for i := range len(s) {
		if isUpper(s[i]) {
			return true
		}
	}
	return false
}

func lower(s string) string {
	if !hasUpper(s) {
		return s
	}
	b := []byte(s)
	lowerBytes(b)
	return string(b)
}

func lowerBytes(b []byte) {
	for i, c := range b {
		if isUpper(c) {
			b[i] = c + ('a' - 'A')
		}
	}
}

// equalFold reports whether s is want, which is in lower case.
func equalFold(s, want string) bool {
	if len(s) != len(want) {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if isUpper(c) {
			c += 'a' - 'A'
		}
		if c != want[i] {
			return false
		}
	}
	return true
}

// schemeEnd returns the index of the colon that ends the scheme of s (RFC 3986,
// section 3.1), or -1 if s does not start with a scheme.
func schemeEnd(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case isAlpha(c):
		case c == ':' && i > 0:
			return i
		case i > 0 && (isDigit(c) || c == '+' || c == '-' || c == '.'):
		default:
			return -1
		}
	}
	return -1
}
