package policydecl

// ResourceTargets is [Set.Resource] for a caller that has more to look up with what
// matches, or that knows more declarations than s does, such as those of one session. It
// appends to dst the indices into Config.Targets of what any reading of uri matches, in
// the order they were declared, and leaves the default out: bare reports that some
// reading of uri matched no declaration of s, so that the default must accept as well
// unless the caller finds one for that reading itself (R2, R4). [Set.Target] has their
// policies. The error, for a URI that is too long or cannot be read, means refuse.
func (s *Set) ResourceTargets(dst []int, uri string) (targets []int, bare bool, err error) {
	if !s.made() {
		return dst, true, errNoSet
	}
	start := len(dst)
	dst, bare, err = s.patterns.Match(dst, uri)
	return s.toTargets(dst, start, bare, err)
}

// ResourceTemplateTargets is to [Set.ResourceTemplate] what [Set.ResourceTargets] is to
// [Set.Resource].
func (s *Set) ResourceTemplateTargets(dst []int, text string) (targets []int, bare bool, err error) {
	if !s.made() {
		return dst, true, errNoSet
	}
	start := len(dst)
	dst, bare, err = s.patterns.MatchTemplate(dst, text)
	return s.toTargets(dst, start, bare, err)
}

// toTargets turns the matches since start, which are indices of patterns, into indices of
// declarations.
func (s *Set) toTargets(dst []int, start int, bare bool, err error) ([]int, bool, error) {
	if err != nil {
		return dst[:start], true, err
	}
	for i, match := range dst[start:] {
		dst[start+i] = s.declared[match]
	}
	// A matcher that found nothing and calls nothing bare has erred.
	return dst, bare || len(dst) == start, nil
}

// Target returns the policy of the declaration Config.Targets[i], with the default in
// place of an absent one. For an index that is none, and for a Set that [Compile] did not
// make, it accepts nothing.
func (s *Set) Target(i int) Policy {
	if !s.made() || i < 0 || i >= len(s.config.Targets) {
		return AcceptFrom()
	}
	return s.resolve(s.config.Targets[i].Policy)
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
