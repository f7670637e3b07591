package main

import (
	"net/netip"
	"testing"
)

func TestIsPublic(t *testing.T) {
	public := []string{
		"1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1",
		"192.0.1.1", "192.88.98.1", "198.17.0.1", "198.20.0.1", "223.255.255.255",
		"2606:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888", "2400::1",
	}
	private := []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1",
		"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1",
		"192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1",
		"2001::1", "2001:10::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "5f00::1",
		"fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "2606:4700::1111%eth0",
	}
	for _, s := range public {
		if !isPublic(netip.MustParseAddr(s)) {
			t.Errorf("%s is public", s)
		}
	}
	for _, s := range private {
		if isPublic(netip.MustParseAddr(s)) {
			t.Errorf("%s is not public", s)
		}
	}
	if isPublic(netip.Addr{}) {
		t.Error("the zero address is not public")
	}
}

func TestDialControl(t *testing.T) {
	for address, want := range map[string]error{
		"93.184.216.34:443":    nil,
		"[2606:4700::1111]:80": nil,
		"127.0.0.1:80":         errNotPublic,
		"[::1]:80":             errNotPublic,
		"[::ffff:10.0.0.1]:80": errNotPublic,
		"[fe80::1%lo]:80":      errNotPublic,
		"localhost:80":         errNotPublic, // not an address: refuse rather than guess
		"":                     errNotPublic,
	} {
		if got := dialControl("tcp", address, nil); got != want {
			t.Errorf("%q: %v, want %v", address, got, want)
		}
	}
}

func TestHostList(t *testing.T) {
	var l hostList
	for _, s := range []string{"Intranet.example", "localhost:8080", "[::1]:9090", "fd00::1", "10.0.0.7"} {
		if err := l.add(s); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
	}
	tests := []struct {
		host, port string
		want       bool
	}{
		{"intranet.example", "80", true},
		{"INTRANET.example", "8443", true},
		{"intranet.example.", "80", false},
		{"www.intranet.example", "80", false},
		{"localhost", "8080", true},
		{"localhost", "8081", false},
		{"127.0.0.1", "8080", false}, // the name is allowed, not what it resolves to
		{"::1", "9090", true},
		{"0:0:0:0:0:0:0:1", "9090", true},
		{"::1", "80", false},
		{"fd00::1", "80", true},
		{"10.0.0.7", "80", true},
		{"10.0.0.8", "80", false},
		{"", "80", false},
	}
	for _, tt := range tests {
		if got := l.has(tt.host, tt.port); got != tt.want {
			t.Errorf("%s %s: %v", tt.host, tt.port, got)
		}
	}
	for _, s := range []string{"", ":80", "host:", "host:0", "host:65536", "host:http", "http://host", "host/path", "u@host", "a:b:c", "fe80::1%eth0"} {
		if err := l.add(s); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
	if (&hostList{}).has("localhost", "80") {
		t.Error("an empty list has a host")
	}
}
