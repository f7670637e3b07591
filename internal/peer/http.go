package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxErrorBody is how much of an answer is read that is no message.
const maxErrorBody = 64 << 10

// web is a Streamable HTTP endpoint. It keeps no stream open between requests.
type web struct {
	url     string
	header  http.Header
	client  *http.Client
	session string
	version string // goes with the session
}

func newWeb(address string, header http.Header) (*web, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("-url: %s is no URL; write http:// or https://, a host and a path", Quote(address, 200))
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("-url: %s does not lead to an HTTP server; write http:// or https://, a host and a path", Quote(u.Redacted(), 200))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &web{url: address, header: header, client: &http.Client{
		Transport: transport,
		// A redirect would take the caller's headers to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func (w *web) exchange(ctx context.Context, r *request) (message, int, error) {
	resp, err := w.post(ctx, r)
	if err != nil {
		return message{}, 0, err
	}
	defer resp.Body.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	status := 0
	if resp.StatusCode != http.StatusOK {
		status = resp.StatusCode
	}
	var m message
	switch {
	case status == 0 && kind == "text/event-stream":
		m, err = w.stream(ctx, resp.Body, r)
	case status == 0 && kind == "application/json":
		m, err = w.body(resp, r, MaxMessage)
	default: // the stateless era sends errors with a status of their own
		m, err = w.body(resp, r, maxErrorBody)
	}
	if err == nil && r.method == string(mcp.MethodInitialize) {
		w.session = resp.Header.Get(mcp.HeaderSessionID)
	}
	return m, status, err
}

// body reads an answer that is one message.
func (w *web) body(resp *http.Response, r *request, limit int) (message, error) {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err != nil {
		return message{}, w.plain(r.method, err)
	}
	if len(raw) > limit && limit == MaxMessage {
		return message{}, sizeError(r.method, limit)
	}
	if m, err := readMessage(raw); err == nil && m.answers(r.id) {
		return m, nil
	}
	return message{}, &HTTPError{
		Method: r.method, Status: resp.StatusCode,
		ContentType: resp.Header.Get("Content-Type"), Challenge: resp.Header.Get("WWW-Authenticate"),
		Location: resp.Header.Get("Location"), Body: string(raw[:min(len(raw), 512)]),
	}
}

// stream reads events until the answer is among them.
func (w *web) stream(ctx context.Context, body io.Reader, r *request) (message, error) {
	events := newEvents(body)
	size := 0
	for range maxBefore {
		data, err := events.next()
		switch {
		case errors.Is(err, io.EOF):
			return message{}, fmt.Errorf("%s: the stream of events ended without an answer", r.method)
		case errors.Is(err, errTooLarge):
			return message{}, sizeError(r.method, MaxMessage)
		case err != nil:
			return message{}, w.plain(r.method, err)
		}
		if size += len(data); size > maxBytesBefore {
			break
		}
		m, err := readMessage(data)
		if err != nil {
			return message{}, fmt.Errorf("%s: an event holds what is %w: %s", r.method, err, Quote(string(data), 120))
		}
		if m.answers(r.id) {
			return m, nil
		}
		if reply := m.reply(); reply != nil {
			if err := w.notify(ctx, &request{method: "an answer", body: reply, header: r.replyHeader()}); err != nil {
				return message{}, err
			}
		}
	}
	return message{}, fmt.Errorf("%s: %w", r.method, errFlood)
}

// replyHeader keeps of a request's headers what also an answer to the server needs.
func (r *request) replyHeader() http.Header {
	h := http.Header{}
	if v := r.header.Get(mcp.HeaderProtocolVersion); v != "" {
		h.Set(mcp.HeaderProtocolVersion, v)
	}
	return h
}

// notify posts a message and does not care what comes back.
func (w *web) notify(ctx context.Context, r *request) error {
	resp, err := w.post(ctx, r)
	if err != nil {
		return err
	}
	return resp.Body.Close() // not read: it could be a stream without an end
}

func (w *web) post(ctx context.Context, r *request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(r.body))
	if err != nil {
		return nil, w.plain(r.method, err)
	}
	w.setHeader(req, r.header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if v := r.header.Get(mcp.HeaderProtocolVersion); v != "" {
		w.version = v
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, w.plain(r.method, err)
	}
	return resp, nil
}

// setHeader sets the caller's headers, then the protocol's, which win.
func (w *web) setHeader(req *http.Request, own http.Header) {
	for _, h := range []http.Header{w.header, own} {
		for name, values := range h {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if host := w.header.Get("Host"); host != "" {
		req.Host = host
	}
	if w.session != "" {
		req.Header.Set(mcp.HeaderSessionID, w.session)
	}
}

// plain returns a transport's error without the URL, which may hold a secret, and fit
// for a terminal: parts of it can come from the server.
func (w *web) plain(method string, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s: cannot reach the server: %s", method, Escape(strings.TrimSpace(err.Error()), 300))
}

// close ends the session, if there is one. Whether the server cares is its own affair.
func (w *web) close(ctx context.Context) {
	defer w.client.CloseIdleConnections()
	if w.session == "" {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, w.url, nil)
	if err != nil {
		return
	}
	w.setHeader(req, nil)
	if w.version != "" {
		req.Header.Set(mcp.HeaderProtocolVersion, w.version)
	}
	if resp, err := w.client.Do(req); err == nil {
		resp.Body.Close()
	}
}
