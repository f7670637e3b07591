package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestHandshakeOverHTTP(t *testing.T) {
	var log []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request, m rpc) bool {
		h := r.Header
		log = append(log, strings.TrimSpace(fmt.Sprint(r.Method, " ", m.Method, " ", h.Get("Mcp-Session-Id"), " ", h.Get("Mcp-Protocol-Version"), " ", h.Get("X-Own"), h.Get("Mcp-Method"))))
		if m.Method == "initialize" {
			if !strings.Contains(string(m.Params), `"capabilities":{"extensions":{"io.modelcontextprotocol/flow":{"origin":true}},"flow":{"origin":true}}`) {
				t.Errorf("params %s", m.Params)
			}
			w.Header().Set("Mcp-Session-Id", "s1")
		}
		return false
	})
	c, err := Dial(t.Context(), Config{URL: s.URL, Header: http.Header{"X-Own": {"x"}, "Accept": {"text/html"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Call(t.Context(), "tools/list", nil); err != nil {
		t.Error(err)
	}
	c.Close()
	noneLeft(t)
	want := []string{"POST initialize   x", "POST notifications/initialized s1 2025-11-25 x", "POST tools/list s1 2025-11-25 x", "DELETE  s1 2025-11-25 x"}
	if strings.Join(log, "|") != strings.Join(want, "|") {
		t.Errorf("%q", log)
	}
}

// A server that only speaks 2026-07-28 refuses initialize in one of several ways.
func TestStatelessOverHTTP(t *testing.T) {
	for name, status := range map[string]int{"unknown method": 404, "bad request": 400, "with status 200": 200, "in words": 400} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request, m rpc) bool {
				w.Header().Set("Content-Type", "application/json")
				if m.Method == "initialize" {
					w.WriteHeader(status)
					if name == "in words" {
						_, _ = io.WriteString(w, "Mcp-Method is missing")
						return true
					}
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
					return true
				}
				var params struct {
					Name string                     `json:"name"`
					Meta map[string]json.RawMessage `json:"_meta"`
				}
				if err := json.Unmarshal(m.Params, &params); err != nil {
					t.Error(err)
				}
				h := r.Header
				if h.Get("Mcp-Protocol-Version") != "2026-07-28" || h.Get("Mcp-Method") != m.Method || h.Get("Mcp-Name") != params.Name ||
					string(params.Meta["io.modelcontextprotocol/protocolVersion"]) != `"2026-07-28"` ||
					!strings.Contains(string(params.Meta["io.modelcontextprotocol/clientCapabilities"]), `"origin":true`) {
					t.Errorf("%v %s", h, m.Params)
				}
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"own":%s}}`, m.ID, orNull(params.Meta["own"]))
				return true
			})
			c, err := Dial(t.Context(), Config{URL: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			raw, err := c.Call(t.Context(), "tools/call", map[string]any{"name": "x", "_meta": map[string]any{"own": 7}})
			if err != nil || string(raw) != `{"own":7}` || c.Era() != Stateless {
				t.Errorf("%s %v %s", raw, err, c.Era())
			}
		})
	}
}

func TestEraIsForced(t *testing.T) {
	for era, want := range map[Era]string{Handshake: "initialize", Stateless: "server/discover"} {
		first := ""
		s := serve(t, func(_ http.ResponseWriter, _ *http.Request, m rpc) bool {
			if first == "" {
				first = m.Method
			}
			return false
		})
		c, err := Dial(t.Context(), Config{URL: s.URL, Era: era})
		if err != nil || first != want {
			t.Errorf("%s: %v, %s", era, err, first)
			continue
		}
		c.Close()
	}
}

// A redirect does not take the caller's headers elsewhere.
func TestRedirectsAreNotFollowed(t *testing.T) {
	other := serve(t, func(http.ResponseWriter, *http.Request, rpc) bool {
		t.Error("the redirect was followed")
		return false
	})
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ rpc) bool {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		return true
	})
	if _, err := Dial(t.Context(), Config{URL: s.URL, Header: http.Header{"Authorization": {"Bearer x"}}}); err == nil {
		t.Error("no error")
	}
}

// mute is a link to a server that never answers.
type mute struct{ link }

func (mute) exchange(ctx context.Context, _ *request) (*reply, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestTimeoutByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Conn{cfg: Config{Timeout: DefaultTimeout}, link: mute{}}
		start := time.Now()
		_, err := c.Call(t.Context(), "tools/list", nil)
		if took := time.Since(start); took != 10*time.Second || err.Error() != "no answer to tools/list within 10s" {
			t.Errorf("%s, %v", took, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var late *TimeoutError
		if _, err := c.Call(ctx, "tools/list", nil); errors.As(err, &late) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's deadline is the caller's to explain: %v", err)
		}
	})
}

// A child that writes something else than messages is told by what it wrote.
func TestTimeoutShowsNoise(t *testing.T) {
	c := &Conn{cfg: Config{Timeout: time.Second}, link: &child{noise: "Listening\u202e", words: said("loading \x1b[2J\n")}}
	err := c.explain(t.Context(), "initialize", context.DeadlineExceeded)
	if want := `no answer to initialize within 1s; a line on standard output is no message: "Listening\u202e"; standard error ends with:` + "\n    loading \\x1b[2J"; err.Error() != want {
		t.Error(err)
	}
}

func TestErrorsKeepTheData(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, m rpc) bool {
		if m.Method != "tools/call" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":403,"message":"no\u001b[31m\u202e","data":{"x":[1, 2]}}}`)
		return true
	})
	c, err := Dial(t.Context(), Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Call(t.Context(), "tools/call", nil)
	var answer *RPCError
	if !errors.As(err, &answer) || answer.Code != 403 || answer.Status != 400 || !strings.Contains(string(answer.Raw), `"data":{"x":[1, 2]}`) {
		t.Fatalf("%v", err)
	}
	if want := `tools/call was answered with error 403, "no\x1b[31m\u202e" without the id of the request (X1) (HTTP status 400)`; err.Error() != want {
		t.Errorf("%s", err)
	}
}

func TestVersionsGoIntoAHeader(t *testing.T) {
	for hello, want := range map[string][2]string{
		`{"protocolVersion":"2024-11-05"}`: {"2024-11-05", ""}, `{"protocolVersion":"2099-01-01"}`: {"2099-01-01", "2099-01-01"},
		`{"protocolVersion":"a\r\nX: y"}`: {"2025-11-25", "a\r\nX: y"}, `{"protocolVersion":7}`: {"2025-11-25", "7"},
		`[]`: {"2025-11-25", "(none)"}, `{}`: {"2025-11-25", "(none)"}, `{"protocolVersion":""}`: {"2025-11-25", `""`},
		`{"protocolVersion":"2024x11x05"}`: {"2025-11-25", "2024x11x05"},
	} {
		if got, strange := namedVersion(json.RawMessage(hello)); got != want[0] || strange != want[1] {
			t.Errorf("%s: %q %q", hello, got, strange)
		}
	}
}
