package host

// Holders returns how many servers hold the name of a tool.
func Holders(h *Host, name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.tools[name])
}

// InFlight returns how many partitions have a request at the server.
func InFlight(c *Connection) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.inFlight)
}
