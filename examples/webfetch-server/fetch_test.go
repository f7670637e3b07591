package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	st "github.com/flowgate-mcp/flowgate/examples/internal/servetest"
)

// site is a web site on a loopback address.
func site(t *testing.T, h http.HandlerFunc) (s *httptest.Server, hits *atomic.Int64) {
	t.Helper()
	hits = new(atomic.Int64)
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s, hits
}

func allow(t *testing.T, hosts ...string) (l hostList) {
	t.Helper()
	for _, h := range hosts {
		if err := l.add(h); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func text(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, body)
}

func hostOf(t *testing.T, rawURL string) (host, port string) {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Hostname(), u.Port()
}

func TestFetchReadsText(t *testing.T) {
	s, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/text", http.StatusFound)
		case "/text":
			text(w, "hello "+r.Header.Get("Referer"))
		case "/broken":
			text(w, "a\xffb")
		case "/json":
			w.Header().Set("Content-Type", "application/problem+json")
			fmt.Fprint(w, `{"a":1}`)
		}
	})
	f := newFetcher(allow(t, strings.TrimPrefix(s.URL, "http://")))
	for path, want := range map[string]string{"/text": "hello ", "/moved": "hello ", "/json": `{"a":1}`, "/broken": "a\uFFFDb"} {
		p, err := f.fetch(st.Context(t), s.URL+path)
		if err != nil || p.text != want || p.cut {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
	if p, err := f.fetch(st.Context(t), s.URL+"/moved"); err != nil || p.url != s.URL+"/text" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestFetchRefusesURLs(t *testing.T) {
	f := newFetcher(allow(t, "localhost", "127.0.0.1"))
	for _, u := range []string{
		"", "/path", "//localhost/", "localhost", "file:///etc/passwd", "ftp://localhost/", "gopher://localhost/",
		"http:localhost", "http://", "http://:80/", "http://user@localhost/", "https://u:p@localhost/", "http://@localhost/",
		"http://local host/", "http://localhost:port/", "http://[::1/", "http://localhost/\n", "javascript:alert(1)",
		"http://localhost/" + strings.Repeat("a", maxURL),
	} {
		if _, err := f.fetch(st.Context(t), u); !errors.Is(err, errURL) {
			t.Errorf("%.60q: %v", u, err)
		}
	}
}

func TestFetchRefusesPages(t *testing.T) {
	s, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/image":
			w.Header().Set("Content-Type", "image/png")
		case "/untyped":
			w.Header()["Content-Type"] = nil
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		case "/user":
			w.Header().Set("Location", "http://u:p@"+r.Host+"/")
			w.WriteHeader(http.StatusFound)
		}
	})
	f := newFetcher(allow(t, "127.0.0.1"))
	for path, want := range map[string]string{
		"/image":   errNotText.Error(),
		"/untyped": errNotText.Error(),
		"/missing": "status 404",
		"/loop":    errRedirects.Error(),
		"/file":    errURL.Error(),
		"/user":    errURL.Error(),
	} {
		if _, err := f.fetch(st.Context(t), s.URL+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

func TestFetchDoesNotDowngrade(t *testing.T) {
	from := &http.Request{URL: &url.URL{Scheme: "https", Host: "a.example"}}
	to := &http.Request{URL: &url.URL{Scheme: "http", Host: "a.example"}, Header: http.Header{}}
	if err := checkRedirect(to, []*http.Request{from}); !errors.Is(err, errDowngrade) {
		t.Error(err)
	}
}

func TestFetchLimitsSize(t *testing.T) {
	long := strings.Repeat("a", maxPage-1) + "é" // the limit falls into the last character
	s, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			text(w, long+"tail")
			return
		}
		text(w, strings.Repeat("b", maxPage))
	})
	f := newFetcher(allow(t, "127.0.0.1"))
	p, err := f.fetch(st.Context(t), s.URL+"/long")
	if err != nil || !p.cut || len(p.text) != maxPage-1 || !utf8.ValidString(p.text) {
		t.Errorf("%v, %d bytes, cut %v", err, len(p.text), p.cut)
	}
	p, err = f.fetch(st.Context(t), s.URL+"/exact")
	if err != nil || p.cut || len(p.text) != maxPage {
		t.Errorf("%v, %d bytes, cut %v", err, len(p.text), p.cut)
	}
}

func TestFetchLimitsTime(t *testing.T) {
	end := make(chan struct{})
	s, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		text(w, "start")
		w.(http.Flusher).Flush()
		<-end
	})
	defer close(end)
	f := newFetcher(allow(t, "127.0.0.1"))
	f.timeout = 20 * time.Millisecond
	if _, err := f.fetch(st.Context(t), s.URL); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(st.Context(t))
	cancel()
	if _, err := f.fetch(ctx, s.URL); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestFetchDialsPublicAddressesOnly(t *testing.T) {
	s, hits := site(t, func(w http.ResponseWriter, _ *http.Request) { text(w, "secret") })
	_, port := hostOf(t, s.URL)
	f := newFetcher(hostList{})
	for _, host := range []string{
		"127.0.0.1", "localhost", "localhost.", "0.0.0.0", "0", "127.1", "2130706433", "0x7f000001",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "169.254.169.254", "10.0.0.1",
	} {
		if p, err := f.fetch(st.Context(t), "http://"+host+":"+port+"/"); err == nil {
			t.Errorf("%s: %q", host, p.text)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestFetchGuardsRedirects(t *testing.T) {
	inner, hits := site(t, func(w http.ResponseWriter, _ *http.Request) { text(w, "secret") })
	outer, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inner.URL, http.StatusFound)
	})
	host, port := hostOf(t, outer.URL)
	f := newFetcher(allow(t, host+":"+port))
	if _, err := f.fetch(st.Context(t), outer.URL); !errors.Is(err, errNotPublic) {
		t.Error(err)
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// The name is looked up once per connection, and what is dialled is what was
// looked at: the second answer gets no further than the first.
func TestFetchGuardsAgainstRebinding(t *testing.T) {
	var target string
	inner, hits := site(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			http.Redirect(w, r, target, http.StatusFound)
			return
		}
		text(w, "secret")
	})
	_, port := hostOf(t, inner.URL)
	target = "http://rebind.example:" + port + "/second"

	for _, answers := range [][]string{{"127.0.0.1"}, {"192.0.2.1", "127.0.0.1"}, {"10.0.0.1", "127.0.0.1"}} {
		f := newFetcherWith(hostList{}, fakeDNS(t, answers...))
		for range answers {
			if _, err := f.fetch(st.Context(t), target); !errors.Is(err, errNotPublic) {
				t.Errorf("%q: %v", answers, err)
			}
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}

	// An allowed name may resolve to anything; a redirect away from it may not.
	dns := fakeDNS(t, "127.0.0.1")
	f := newFetcherWith(allow(t, "intranet.example"), dns)
	if p, err := f.fetch(st.Context(t), "http://intranet.example:"+port+"/"); err != nil || p.text != "secret" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := f.fetch(st.Context(t), "http://intranet.example:"+port+"/first"); !errors.Is(err, errNotPublic) {
		t.Error(err)
	}
}

func TestFetchIgnoresProxies(t *testing.T) {
	proxy, hits := site(t, func(w http.ResponseWriter, _ *http.Request) { text(w, "proxied") })
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	f := newFetcherWith(hostList{}, fakeDNS(t, "192.0.2.1"))
	if _, err := f.fetch(st.Context(t), "http://site.example/"); !errors.Is(err, errNotPublic) {
		t.Error(err)
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}
