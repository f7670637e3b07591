package policydecl

// ResourceMatch is [Set.Resource] for a caller that knows more declarations
// than s does, such as those of one session. It appends only what was declared
// and leaves the default out: bare reports that some reading of uri matched no
// declaration of s, so that the default must accept as well unless the caller
// finds one for that reading itself (R2, R4).
func (s *Set) ResourceMatch(dst []Policy, uri string) (policies []Policy, bare bool, err error) {
	if !s.made() {
		return dst, true, errNoSet
	}
	var buf [8]int
	matches, bare, err := s.patterns.Match(buf[:0], uri)
	return s.matched(dst, matches, bare, err)
}

// ResourceTemplateMatch is to [Set.ResourceTemplate] what [Set.ResourceMatch] is to
// [Set.Resource].
func (s *Set) ResourceTemplateMatch(dst []Policy, text string) (policies []Policy, bare bool, err error) {
	if !s.made() {
		return dst, true, errNoSet
	}
	var buf [8]int
	matches, bare, err := s.patterns.MatchTemplate(buf[:0], text)
	return s.matched(dst, matches, bare, err)
}

// matched appends the policies of what was matched, without the default.
func (s *Set) matched(dst []Policy, matches []int, bare bool, err error) ([]Policy, bool, error) {
	if err != nil {
		return dst, true, err
	}
	start := len(dst)
	for _, i := range matches {
		dst = appendOnce(dst, start, s.policies[i])
	}
	// A matcher that found nothing and calls nothing bare has erred.
	return dst, bare || len(dst) == start, nil
}
