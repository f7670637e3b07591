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
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/internal/plain"
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

func newWeb(address string, header http.Header, apart bool) (*web, error) {
	u, err := url.Parse(address)
	const hint = "write http:// or https://, a host and a path"
	switch {
	case err != nil: // and not shown: what is wrong in it may be a password
		return nil, errors.New("-url: this is no URL; " + hint)
	case u.Host == "":
		return nil, errors.New("-url: this does not lead to an HTTP server; " + hint)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("-url: %s does not lead to an HTTP server; %s", Address(address), hint)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// Behind one address there can be many servers, each with connections of its own.
	transport.DisableKeepAlives = apart
	return &web{url: address, header: header, client: &http.Client{
		Transport: transport,
		// A redirect would take the caller's headers to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Address is [Public], fit for a terminal (M3) and cut.
func Address(text string) string { return plain.Escape(Public(text), 200) }

// Public returns what of a URL is no secret: its scheme, host and path. Passwords stand
// before the host, and tokens behind the path.
func Public(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		return "(a URL that cannot be shown)"
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	s := shown.String()
	if u.RawQuery != "" || u.ForceQuery {
		s += "?..."
	}
	return s
}

func (w *web) exchange(ctx context.Context, r *request) (*reply, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the reading of a stream
	defer cancel()
	resp, err := w.post(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	got := r.reply()
	if resp.StatusCode != http.StatusOK {
		got.status = resp.StatusCode
	}
	switch {
	case got.status == 0 && kind == "text/event-stream":
		err = w.stream(ctx, cancel, resp.Body, r, got)
	case got.status == 0 && kind == "application/json":
		err = w.body(resp, r, got, MaxMessage)
	default: // the stateless era sends errors with a status of their own
		err = w.body(resp, r, got, maxErrorBody)
	}
	if err != nil {
		return nil, err
	}
	if r.method == string(mcp.MethodInitialize) {
		w.session = resp.Header.Get(mcp.HeaderSessionID)
	}
	return got, nil
}

// body reads an answer that is one message.
func (w *web) body(resp *http.Response, r *request, got *reply, limit int) error {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err != nil {
		return w.failed(r.method, brokeOff, err)
	}
	if len(raw) > limit && limit == MaxMessage {
		return sizeError(r.method, limit)
	}
	if m, err := readMessage(raw); err == nil && (got.take(m) || got.settle()) {
		return nil
	}
	return &HTTPError{
		Method: r.method, Status: resp.StatusCode,
		ContentType: resp.Header.Get("Content-Type"), Challenge: resp.Header.Get("WWW-Authenticate"),
		Location: resp.Header.Get("Location"), Body: string(raw[:min(len(raw), 512)]),
	}
}

// stream reads events until the answer is among them, and on to the end for a moment if
// that is wanted. stop ends the reading.
func (w *web) stream(ctx context.Context, stop func(), body io.Reader, r *request, got *reply) error {
	got.stream = true
	events, size := newEvents(body), 0
	var timer *time.Timer
	for range maxBefore {
		data, err := events.next()
		if err != nil {
			got.open = timer != nil && !timer.Stop() || !errors.Is(err, io.EOF)
			if got.settle() {
				return nil
			}
			return w.broken(r.method, err)
		}
		if size += len(data); size > maxBytesBefore {
			break
		}
		m, err := readMessage(data)
		if err != nil && !got.found {
			return fmt.Errorf("%s: an event holds what is %w: %s", r.method, err, plain.Quote(string(data), 120))
		}
		if err == nil && got.take(m) && !r.drain {
			return nil
		}
		if timer == nil && (got.found || got.stray != nil) {
			timer = time.AfterFunc(r.settle, stop)
			defer timer.Stop()
		}
		if answer := m.reply(); answer != nil {
			if err := w.notify(ctx, &request{method: "an answer", body: answer, header: r.replyHeader()}); err != nil && !got.settle() {
				return err
			}
		}
	}
	got.open = true
	if got.settle() {
		return nil
	}
	return fmt.Errorf("%s: %w", r.method, errFlood)
}

// broken says why a stream ended before the answer.
func (w *web) broken(method string, err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s: the stream of events ended without an answer", method)
	case errors.Is(err, errTooLarge):
		return sizeError(method, MaxMessage)
	}
	return w.failed(method, brokeOff, err)
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
		return nil, w.failed(r.method, unreachable, err)
	}
	w.setHeader(req, r.header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if v := r.header.Get(mcp.HeaderProtocolVersion); v != "" {
		w.version = v
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, w.failed(r.method, unreachable, err)
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

// What a transport's error keeps from happening.
const (
	unreachable = "cannot reach the server"
	brokeOff    = "the answer broke off"
)

// failed returns a transport's error without the URL, which may hold a secret, and fit
// for a terminal: parts of it can come from the server.
func (w *web) failed(method, what string, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s: %s: %s", method, what, plain.Escape(strings.TrimSpace(err.Error()), 300))
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
