package soak_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// web is a server over HTTP as clients reach it. After a restart there is another.
type web struct {
	url    string
	client *http.Client
}

func newWeb(addr string) *web {
	return &web{url: "http://" + addr + "/mcp", client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
}

// surfer is a client over HTTP. It has a session for the earlier era.
type surfer struct {
	site    *site
	random  *rand.Rand
	web     *web
	session string
	sent    int
	stream  context.CancelFunc // ends the stream of the session, if there is one
}

// once does one thing. The error says that the server does not answer as it should, which
// it may not if it was killed.
func (c *surfer) once() error {
	if c.session == "" {
		if err := c.open(); err != nil {
			return err
		}
	}
	q := c.site.pick(c.random)
	c.site.sending(q)
	if err := c.exchange(q); err != nil {
		return err
	}
	if c.sent++; c.sent%60 == 0 {
		return c.close(c.sent%120 == 0)
	}
	return nil
}

// headers are those that an era asks of a request.
func (c *surfer) headers(q *query) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Mcp-Protocol-Version", q.era)
	if q.era == legacy {
		h.Set("Mcp-Session-Id", c.session)
		return h
	}
	method, called := q.method()
	h.Set("Mcp-Method", method)
	if called != "" {
		h.Set("Mcp-Name", fill(called, q))
	}
	return h
}

func (c *surfer) post(ctx context.Context, body string, h http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.web.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = h
	return c.web.client.Do(req)
}

// exchange sends a request and does with it what its route says. It returns an error, and
// reports nothing, if no whole answer came.
func (c *surfer) exchange(q *query) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resp, err := c.post(ctx, q.body(), c.headers(q))
	if err != nil {
		return c.broke(q, err)
	}
	defer resp.Body.Close()
	var began func() (leave bool)
	if q.route != nil {
		began = map[manner]func() bool{
			cancels: func() bool { return q.era == modern || c.cancel(q) != nil }, leaves: func() bool { return true }, subscribe: func() bool { return true },
		}[q.route.manner]
	}
	got, left, err := replies(resp, q, began)
	switch {
	case err != nil:
		return c.broke(q, err)
	case left:
		c.site.leftAlone(q, "left by the client")
	default:
		c.site.received(q, got)
	}
	return nil
}

// broken is why a request got no answer.
type broken struct {
	site *site
	q    *query
	err  error
}

func (b *broken) Error() string { return b.err.Error() }

func (c *surfer) broke(q *query, err error) error { return &broken{c.site, q, err} }

// cancel cancels a request of the session.
func (c *surfer) cancel(q *query) error {
	ctx, done := context.WithTimeout(context.Background(), patience)
	defer done()
	resp, err := c.post(ctx, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+q.id+`}}`, c.headers(q))
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}

// replies reads all that comes for a request. began, if there is one, is called when the
// handler has shown that it runs, and says whether to leave.
func replies(resp *http.Response, q *query, began func() bool) (got []answer, left bool, err error) {
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		body, err := io.ReadAll(resp.Body)
		if err != nil || len(bytes.TrimSpace(body)) == 0 {
			return nil, false, err
		}
		a := answer{status: resp.StatusCode}
		if err := json.Unmarshal(body, &a); err != nil {
			return nil, false, fmt.Errorf("status %d, %q: %w", resp.StatusCode, cut(string(body)), err)
		}
		return []answer{a}, false, nil
	}
	for in := bufio.NewReader(resp.Body); ; {
		a, err := readEvent(in)
		if err == io.EOF {
			return got, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		a.status = resp.StatusCode
		if a.isReply() {
			got = append(got, a)
		}
		if began != nil && q.shownBy(&a) {
			if began() {
				return nil, true, nil
			}
			began = nil
		}
	}
}

// readEvent reads one event in the form that mcp-go writes.
func readEvent(in *bufio.Reader) (a answer, err error) {
	head, err := in.ReadString('\n')
	if err != nil {
		if head != "" {
			err = io.ErrUnexpectedEOF
		}
		return a, err
	}
	data, err := in.ReadBytes('\n')
	if err != nil {
		return a, io.ErrUnexpectedEOF
	}
	end, err := in.ReadString('\n')
	text, ok := bytes.CutPrefix(data, []byte("data: "))
	if err != nil {
		return a, io.ErrUnexpectedEOF
	}
	if head != "event: message\n" || !ok || end != "\n" {
		return a, fmt.Errorf("not an event: %q %q %q", head, cut(string(data)), end)
	}
	return a, json.Unmarshal(text, &a)
}

// shownBy reports whether a message shows that the handler of the request runs.
func (q *query) shownBy(a *answer) bool {
	switch a.Method {
	case "notifications/progress":
		return strings.Contains(string(a.Params), `"progressToken":`+strconv.FormatUint(q.n, 10)+`}`) ||
			strings.Contains(string(a.Params), `"progressToken":`+strconv.FormatUint(q.n, 10)+`,`)
	case "notifications/subscriptions/acknowledged":
		return strings.Contains(string(a.Params), q.id+"}") || strings.Contains(string(a.Params), q.id+",")
	}
	return false
}

// open starts a session, and now and then its stream.
func (c *surfer) open() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	from := c.site.times.overrides.position()
	resp, err := c.post(ctx, initialize, http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}})
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return err
	}
	states := c.site.times.overrides.since(from)
	published := slices.ContainsFunc(states, func(v int) bool { return variants[v].announcedIn(string(body)) })
	if c.session = resp.Header.Get("Mcp-Session-Id"); c.session == "" || !published {
		c.site.found.add("initialize", "%s: %d %s in states %v (D2)", c.site.name, resp.StatusCode, cut(string(body)), states)
	}
	c.site.counts.add("sessions opened")
	if c.random.IntN(3) == 0 {
		return c.listen()
	}
	return nil
}

// announcedIn reports whether the answer to initialize says what this state has to say (D2).
func (v *variant) announcedIn(body string) bool {
	if v.mode == modeOff {
		return !strings.Contains(body, `"flow":`)
	}
	return strings.Contains(body, `"flow":{"policy":`+strconv.FormatBool(v.mode == modeEnforce)+`,"default":{"acceptFrom":`+v.default_.json()+`}`)
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}`

// listen opens the stream of the session and reads it until it is left.
func (c *surfer) listen() error {
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.web.url, nil)
	if err != nil {
		cancel()
		return err
	}
	req.Header.Set("Mcp-Session-Id", c.session)
	resp, err := c.web.client.Do(req)
	if err != nil {
		cancel()
		return err
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		defer resp.Body.Close()
		for in := bufio.NewReader(resp.Body); ; {
			a, err := readEvent(in)
			if err != nil {
				return // the client has left, or the server was killed
			}
			if a.isReply() {
				c.site.found.add("answers", "%s: an answer on the stream of a session: %v", c.site.name, &a)
			}
		}
	}()
	c.site.counts.add("streams of sessions")
	c.stream = func() { cancel(); <-gone }
	return nil
}

// close ends the session, or only leaves it, as a client does that dies.
func (c *surfer) close(properly bool) error {
	if c.stream != nil {
		c.stream()
		c.stream = nil
	}
	session := c.session
	c.session = ""
	if session == "" || !properly {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.web.url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Mcp-Session-Id", session)
	resp, err := c.web.client.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return err
}
