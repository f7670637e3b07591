package serve

import (
	"net"
	"net/netip"
	"testing"
)

// Addresses that not every machine has, so that no test can listen on them.
func TestCallable(t *testing.T) {
	for addr, want := range map[string]struct {
		host  string
		local bool
	}{
		"127.0.0.2:80":    {"127.0.0.2:80", true},
		"[::1]:80":        {"[::1]:80", true},
		"192.0.2.1:80":    {"192.0.2.1:80", false},
		"[2001:db8::1]:1": {"[2001:db8::1]:1", false},
		"0.0.0.0:80":      {"127.0.0.1:80", false},
		"[::]:80":         {"127.0.0.1:80", false},
	} {
		host, local := callable(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr)))
		if host != want.host || local != want.local {
			t.Errorf("%s: %s %v", addr, host, local)
		}
	}
}
