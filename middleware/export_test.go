package middleware

// ManyRequests is manyRequests for the tests outside the package.
const ManyRequests = manyRequests

// Streams is how many streams h keeps.
func Streams(h *SSEHandler) (n int) {
	h.streams.Range(func(_, _ any) bool { n++; return true })
	return n
}

// Pending is how many requests wait for an answer on all streams of h.
func Pending(h *SSEHandler) (n int) {
	h.streams.Range(func(_, v any) bool {
		s := v.(*sseStream)
		s.edge.mu.Lock()
		defer s.edge.mu.Unlock()
		for _, group := range s.edge.pending {
			n += len(group)
		}
		return true
	})
	return n
}

// Peers is how many sessions g keeps something of.
func Peers(g *Gate) int {
	g.peers.mu.RLock()
	defer g.peers.mu.RUnlock()
	return len(g.peers.known)
}
