package bench

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/server"
)

// loopback is a site that is served over HTTP on the loopback interface, with clients that
// keep their connections.
type loopback struct {
	url    string
	server *http.Server
	client *http.Client
}

// serve puts a site on the wire, for as many clients at once as are given.
func (s *site) serve(clients int) (*loopback, error) {
	var h http.Handler = server.NewStreamableHTTPServer(s.server, server.WithStateLess(true))
	if s.gate != nil {
		var err error
		if h, err = s.gate.Handler(server.WithStateLess(true)); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &loopback{
		url:    "http://" + l.Addr().String() + "/mcp",
		server: &http.Server{Handler: h},
		client: &http.Client{Transport: &http.Transport{MaxIdleConns: clients, MaxIdleConnsPerHost: clients}},
	}
	go func() { _ = w.server.Serve(l) }()
	return w, nil
}

func (w *loopback) close() {
	w.client.CloseIdleConnections()
	_ = w.server.Close()
}

// post sends one message and reads the whole answer into buf.
func (w *loopback) post(m message, buf *bytes.Buffer) error {
	req, err := http.NewRequest(http.MethodPost, w.url, bytes.NewReader(m.raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	buf.Reset()
	if _, err = io.Copy(buf, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(buf.Bytes(), []byte(m.want)) {
		return fmt.Errorf("bench: status %d, %s", resp.StatusCode, buf.Bytes())
	}
	return nil
}

// posts sends n messages, one after the other for each of the clients.
func (w *loopback) posts(m message, n, clients int) {
	if clients == 1 {
		w.postAll(m, n)
		return
	}
	var wg sync.WaitGroup
	for i := range clients {
		share := (n + i) / clients // adds up to n
		wg.Go(func() { w.postAll(m, share) })
	}
	wg.Wait()
}

func (w *loopback) postAll(m message, n int) {
	var buf bytes.Buffer
	for range n {
		if err := w.post(m, &buf); err != nil {
			panic(err)
		}
	}
}
