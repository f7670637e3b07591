package main

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// fakeDNS is a resolver that answers questions for IPv4 addresses with the
// next of its answers, and with the last one ever after.
func fakeDNS(t *testing.T, answers ...string) *net.Resolver {
	t.Helper()
	var mu sync.Mutex
	next := func() netip.Addr {
		mu.Lock()
		defer mu.Unlock()
		addr := netip.MustParseAddr(answers[0])
		if len(answers) > 1 {
			answers = answers[1:]
		}
		return addr
	}
	return &net.Resolver{
		PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe() // no PacketConn, so lengths come first as over TCP
			go func() {
				defer server.Close()
				for answerDNS(server, next) == nil {
				}
			}()
			return client, nil
		},
	}
}

func answerDNS(conn io.ReadWriter, next func() netip.Addr) error {
	var length uint16
	if err := binary.Read(conn, binary.BigEndian, &length); err != nil {
		return err
	}
	query := make([]byte, length)
	if _, err := io.ReadFull(conn, query); err != nil {
		return err
	}
	end := 12 // of the question: labels, a zero, type and class
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5
	isA := binary.BigEndian.Uint16(query[end-4:]) == 1
	reply := append([]byte{}, query[:end]...)
	copy(reply[2:], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
	if isA {
		reply[7] = 1
		reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		addr := next().As4()
		reply = append(reply, addr[:]...)
	}
	_, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
	return err
}
