package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxURL         = 2 << 10
	maxPage        = 1 << 20
	maxRedirects   = 5
	maxPageHeaders = 64 << 10
	fetchTimeout   = 10 * time.Second
	dialTimeout    = 5 * time.Second
)

var (
	errURL       = errors.New("the URL must be an absolute http or https URL with a host and without user name or password")
	errRedirects = fmt.Errorf("more than %d redirects", maxRedirects)
	errDowngrade = errors.New("redirected from https to http")
	errNotText   = errors.New("the page is neither text nor JSON")
)

// page is what a fetch returned.
type page struct {
	url       string // after redirects
	mediaType string
	text      string // valid UTF-8
	cut       bool   // the page is longer than maxPage
}

// fetcher fetches pages. It dials public addresses only, but for the hosts on
// its list. Safe for concurrent use.
type fetcher struct {
	client  *http.Client
	timeout time.Duration
}

func newFetcher(allow hostList) *fetcher { return newFetcherWith(allow, nil) }

// newFetcherWith takes the resolver that names are looked up with; nil is the
// system's.
func newFetcherWith(allow hostList, resolver *net.Resolver) *fetcher {
	open := &net.Dialer{Timeout: dialTimeout, Resolver: resolver}
	guarded := &net.Dialer{Timeout: dialTimeout, Resolver: resolver, Control: dialControl}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		if allow.has(host, port) {
			return open.DialContext(ctx, network, address)
		}
		return guarded.DialContext(ctx, network, address)
	}
	return &fetcher{
		timeout: fetchTimeout,
		client: &http.Client{
			CheckRedirect: checkRedirect,
			Transport: &http.Transport{
				Proxy:                  nil, // a proxy would dial in our place
				DialContext:            dial,
				DisableKeepAlives:      true, // every request passes the guard
				MaxResponseHeaderBytes: maxPageHeaders,
				TLSHandshakeTimeout:    dialTimeout,
			},
		},
	}
}

// fetch gets a page. Its errors are safe to show: they hold neither addresses
// nor anything that the page sent.
func (f *fetcher) fetch(ctx context.Context, rawURL string) (*page, error) {
	if len(rawURL) > maxURL {
		return nil, errURL
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errURL
	}
	if err := checkURL(u); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errURL
	}
	req.Header.Set("User-Agent", name+"/"+version)
	req.Header.Set("Accept", "text/*, application/json")
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, explain(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered with status %d", resp.StatusCode)
	}
	return read(resp)
}

func read(resp *http.Response) (*page, error) {
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || !isText(mediaType) {
		return nil, errNotText
	}
	// The limit counts what is left after decompression.
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	if err != nil {
		return nil, explain(err)
	}
	p := &page{url: resp.Request.URL.String(), mediaType: mediaType}
	if len(body) > maxPage {
		body, p.cut = wholeRunes(body[:maxPage]), true
	}
	p.text = strings.ToValidUTF8(string(body), "\uFFFD")
	return p, nil
}

// wholeRunes drops a last character that the cut went through.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

func isText(mediaType string) bool {
	return strings.HasPrefix(mediaType, "text/") ||
		mediaType == "application/json" ||
		strings.HasPrefix(mediaType, "application/") && strings.HasSuffix(mediaType, "+json")
}

func checkURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" {
		return errURL
	}
	return nil
}

// checkRedirect asks the same of a redirect as of the first URL. Addresses are
// looked at when they are dialled.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errRedirects
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme == "http" {
		return errDowngrade
	}
	req.Header.Del("Referer") // where we came from is not the next host's business
	return checkURL(req.URL)
}

// explain reduces an error of net/http to what a client may know.
func explain(err error) error {
	for _, known := range []error{errNotPublic, errRedirects, errDowngrade, errURL} {
		if errors.Is(err, known) {
			return known
		}
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errors.New("the page took too long")
	}
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	return errors.New("the page could not be fetched")
}
