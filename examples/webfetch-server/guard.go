package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
)

// errNotPublic does not say which address it was: that would let a client map
// a private network by name.
var errNotPublic = errors.New("the host's address is not public")

// notPublic4 are the IPv4 ranges that are not the public internet (IANA's
// special-purpose registry), beyond those that package netip knows.
var notPublic4 = prefixes(
	"0.0.0.0/8",       // this network
	"100.64.0.0/10",   // carrier-grade NAT
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // 6to4 relays
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"240.0.0.0/4",     // reserved, and broadcast
)

// public6 is the only global range of IPv6 so far, notPublic6 what of it is
// not the public internet or leads to an IPv4 address of somebody's choice.
var (
	public6    = netip.MustParsePrefix("2000::/3")
	notPublic6 = prefixes(
		"2001::/23",     // protocol assignments, Teredo among them
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4, holds an IPv4 address
		"3fff::/20",     // documentation
	)
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// isPublic reports whether addr is an address on the public internet. Of IPv6
// it takes only what is known to be; that leaves out mapped and compatible
// addresses, NAT64 and whatever will be assigned next.
func isPublic(addr netip.Addr) bool {
	if !addr.IsValid() || addr.Zone() != "" || addr.Is4In6() {
		return false
	}
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false // unspecified, loopback, multicast, link-local, RFC 1918, RFC 4193
	}
	special := notPublic4
	if addr.Is6() {
		if !public6.Contains(addr) {
			return false
		}
		special = notPublic6
	}
	for _, p := range special {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}

// dialControl refuses every address that is not public. The dialer calls it
// with the address it is about to connect to, after all names are resolved and
// for each candidate, so a name that resolves differently the second time
// gains nothing, and neither does a redirect.
func dialControl(_, address string, _ syscall.RawConn) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(addr.Addr()) {
		return errNotPublic
	}
	return nil
}

// hostList holds the hosts that -allow-host named. A host without a port is
// allowed on every port.
type hostList struct {
	hosts map[string]bool
}

// add reads host or host:port, where host may be a name, an IPv4 address or an
// IPv6 address, the latter in brackets if a port follows.
func (l *hostList) add(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), ""
	} else if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("invalid port %q", port)
	}
	_, notAddr := netip.ParseAddr(host)
	if host == "" || strings.ContainsAny(host, "/@?#[]% ") || notAddr != nil && strings.Contains(host, ":") {
		return errors.New("must be a host or host:port")
	}
	if l.hosts == nil {
		l.hosts = make(map[string]bool)
	}
	l.hosts[hostKey(host, port)] = true
	return nil
}

// has reports whether the list names host, on this port or on all.
func (l *hostList) has(host, port string) bool {
	return l.hosts[hostKey(host, port)] || l.hosts[hostKey(host, "")]
}

// hostKey spells one host in one way.
func hostKey(host, port string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		host = addr.String()
	}
	return strings.ToLower(host) + "|" + port
}
