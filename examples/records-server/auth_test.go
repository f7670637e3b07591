package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

func TestParseTokens(t *testing.T) {
	good := map[string]map[string]role{
		"a=reader":                      {"a": reader},
		"a=reader,b=admin":              {"a": reader, "b": admin, "c": nobody},
		"YWJj==admin":                   {"YWJj=": admin, "YWJj": nobody},
		"A-b_c.d~e+f/0==reader,z=admin": {"A-b_c.d~e+f/0=": reader},
	}
	for text, want := range good {
		list, err := parseTokens(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for token, role := range want {
			if got := list.role(token); got != role {
				t.Errorf("%q: %q has role %d, want %d", text, token, got, role)
			}
		}
		if list.role("") != nobody {
			t.Errorf("%q: the empty token has a role", text)
		}
	}
	bad := map[string]int{ // to the number of entries reported
		"":                          0,
		",":                         2,
		"a=reader,":                 1,
		"a":                         1,
		"=admin":                    1,
		"==admin":                   1,
		"a=":                        1,
		"a=Admin":                   1,
		"a= admin":                  1,
		"a b=admin":                 1,
		" a=admin":                  1,
		"a=reader,a=admin":          1,
		"sekret=root,sekret:admin,": 3,
		"admin=sekret,a=reader,b=":  2, // the wrong way round
		"a=reader, sekret=admin":    1,
	}
	for text, want := range bad {
		_, err := parseTokens(text)
		if err == nil {
			t.Errorf("%q: no error", text)
			continue
		}
		if got := strings.Count(err.Error(), "entry "); got != want {
			t.Errorf("%q: %d entries, want %d: %v", text, got, want, err)
		}
		if !strings.HasPrefix(err.Error(), tokensVariable) || !strings.Contains(err.Error(), "reader or admin") {
			t.Errorf("%q: the error does not tell what to write, and where: %v", text, err)
		}
		if strings.Contains(err.Error(), "sekret") {
			t.Errorf("%q: the error shows a token: %v", text, err)
		}
	}
}

func TestRequireToken(t *testing.T) {
	list, err := parseTokens("r1=reader,a1=admin")
	if err != nil {
		t.Fatal(err)
	}
	const missing, invalid = `Bearer realm="records"`, `Bearer realm="records", error="invalid_token"`
	bodies := map[string]string{"": "", missing: "a bearer token is required\n", invalid: "the bearer token is not valid\n"}
	tests := []struct {
		name      string
		headers   []string
		role      role
		challenge string
	}{
		{"reader", []string{"Bearer r1"}, reader, ""},
		{"admin", []string{"Bearer a1"}, admin, ""},
		{"scheme in another case", []string{"bearer a1"}, admin, ""},
		{"none", nil, nobody, missing},
		{"empty", []string{""}, nobody, missing},
		{"another scheme", []string{"Basic a1"}, nobody, missing},
		{"bare token", []string{"a1"}, nobody, missing},
		{"no token", []string{"Bearer "}, nobody, missing},
		{"wrong", []string{"Bearer a2"}, nobody, invalid},
		{"part of one", []string{"Bearer a"}, nobody, invalid},
		{"two in one", []string{"Bearer a1 r1"}, nobody, invalid},
		{"two headers", []string{"Bearer a1", "Bearer r1"}, nobody, missing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seen := nobody
			h := requireToken(list)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				seen = roleOf(r.Context())
			}))
			req := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			for _, v := range tt.headers {
				req.Header.Add("Authorization", v)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			if seen != tt.role {
				t.Errorf("role %d, want %d", seen, tt.role)
			}
			if got := w.Header().Get("WWW-Authenticate"); got != tt.challenge {
				t.Errorf("WWW-Authenticate %q, want %q", got, tt.challenge)
			}
			if got := w.Body.String(); got != bodies[tt.challenge] {
				t.Errorf("body %q", got)
			}
			if refused := w.Code == http.StatusUnauthorized; refused != (tt.role == nobody) {
				t.Errorf("status %d", w.Code)
			}
		})
	}
}

// A transport that sets no role gives nothing away.
func TestNobodyIsNoAdmin(t *testing.T) {
	ctx := context.Background()
	tools := hideFromReaders("hidden")(ctx, []mcp.Tool{{Name: "hidden"}, {Name: "shown"}})
	if len(tools) != 1 || tools[0].Name != "shown" {
		t.Errorf("tools %v", tools)
	}
	ran := false
	guarded := adminOnly("guarded")(func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ran = true
		return nil, nil
	})
	req := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "guarded"}}
	if _, err := guarded(ctx, req); err != errAdminOnly || ran {
		t.Errorf("error %v, ran %v", err, ran)
	}
	if _, err := guarded(withRole(ctx, admin), req); err != nil || !ran {
		t.Errorf("error %v, ran %v", err, ran)
	}
}
