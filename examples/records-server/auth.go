package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// tokensVariable is the environment variable that holds token=role pairs.
const tokensVariable = "RECORDS_TOKENS"

// tokensForm is what it must look like.
const tokensForm = "token=role,token=role without spaces, where a role is reader or admin"

// role is what a client may do. The zero value is nobody, who may do no more
// than a reader: a transport that forgot to set a role gives nothing away.
type role uint8

const (
	nobody role = iota
	reader
	admin
)

type roleKey struct{}

func withRole(ctx context.Context, r role) context.Context {
	return context.WithValue(ctx, roleKey{}, r)
}

func roleOf(ctx context.Context) role {
	r, _ := ctx.Value(roleKey{}).(role)
	return r
}

// tokens maps bearer tokens to roles. It keeps digests, which all have one
// length, so that comparing says nothing about a token's length either.
type tokens []credential

type credential struct {
	digest [sha256.Size]byte
	role   role
}

// parseTokens reads token=role,token=role. The role is what follows the last
// equals sign, because tokens may end in some (RFC 6750 section 2.1). The error
// names every bad entry by its number and quotes none: what stands in the place
// of a role may be a token. An empty text is an error and not an open door.
func parseTokens(text string) (tokens, error) {
	if text == "" {
		return nil, fmt.Errorf("%s is set but holds no token; use %s, or unset it to ask for none", tokensVariable, tokensForm)
	}
	var list tokens
	var mistakes []string
	for i, pair := range strings.Split(text, ",") {
		c, err := parseCredential(pair)
		if err == nil && list.has(c.digest) {
			err = errors.New("the token is listed twice")
		}
		if err != nil {
			mistakes = append(mistakes, fmt.Sprintf("entry %d: %v", i+1, err))
			continue
		}
		list = append(list, c)
	}
	if len(mistakes) > 0 {
		return nil, fmt.Errorf("%s: %s; use %s", tokensVariable, strings.Join(mistakes, "; "), tokensForm)
	}
	return list, nil
}

func parseCredential(pair string) (credential, error) {
	at := strings.LastIndexByte(pair, '=')
	if at < 0 {
		return credential{}, errors.New("there is no role")
	}
	token, name := pair[:at], pair[at+1:]
	if !isToken68(token) {
		return credential{}, errors.New("the token is empty or has characters that a bearer token cannot have")
	}
	c := credential{digest: sha256.Sum256([]byte(token))}
	switch name {
	case "reader":
		c.role = reader
	case "admin":
		c.role = admin
	default:
		return credential{}, errors.New("there is no such role")
	}
	return c, nil
}

// isToken68 reports whether s has the form of a bearer token.
func isToken68(s string) bool {
	s = strings.TrimRight(s, "=")
	if s == "" {
		return false
	}
	for _, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && !strings.ContainsRune("-._~+/", rune(c)) {
			return false
		}
	}
	return true
}

func (t tokens) has(digest [sha256.Size]byte) bool {
	for _, c := range t {
		if c.digest == digest {
			return true
		}
	}
	return false
}

// role returns what token grants. It compares with every entry, in constant
// time, whichever of them matches.
func (t tokens) role(token string) role {
	digest := sha256.Sum256([]byte(token))
	found := int(nobody)
	for _, c := range t {
		same := subtle.ConstantTimeCompare(digest[:], c.digest[:])
		found = subtle.ConstantTimeSelect(same, int(c.role), found)
	}
	return role(found)
}

// requireToken lets requests pass that bear one of the tokens and puts the
// token's role into their context.
func requireToken(list tokens) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token, sent := bearer(r.Header)
			if granted := list.role(token); sent && granted != nobody {
				next.ServeHTTP(w, r.WithContext(withRole(r.Context(), granted)))
				return
			}
			// RFC 6750 section 3.1: whoever sent no token gets no error code.
			challenge, body := `Bearer realm="records"`, "a bearer token is required"
			if sent {
				challenge, body = challenge+`, error="invalid_token"`, "the bearer token is not valid"
			}
			w.Header().Set("WWW-Authenticate", challenge)
			http.Error(w, body, http.StatusUnauthorized)
		})
	}
}

// bearer returns the token of the one Authorization header there may be.
func bearer(h http.Header) (token string, ok bool) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, token != "" && strings.EqualFold(scheme, "Bearer")
}

// grant gives every request the same role: there are no tokens to tell by.
func grant(r role) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			next.ServeHTTP(w, req.WithContext(withRole(req.Context(), r)))
		})
	}
}

// hideFromReaders is a tool filter: for anyone but an admin the named tools do
// not exist, in the list and when called.
func hideFromReaders(names ...string) server.ToolFilterFunc {
	hidden := make(map[string]bool, len(names))
	for _, name := range names {
		hidden[name] = true
	}
	return func(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
		if roleOf(ctx) == admin {
			return tools
		}
		visible := make([]mcp.Tool, 0, len(tools))
		for _, tool := range tools {
			if !hidden[tool.Name] {
				visible = append(visible, tool)
			}
		}
		return visible
	}
}

// errAdminOnly is the server's own refusal. It is an error and not a result
// with isError, so it stays the answer whatever the flow policy says about
// the same call.
var errAdminOnly = errors.New("this tool needs the role admin")

// adminOnly is a handler middleware that refuses the named tools to anyone but
// an admin.
func adminOnly(names ...string) server.ToolHandlerMiddleware {
	guarded := make(map[string]bool, len(names))
	for _, name := range names {
		guarded[name] = true
	}
	return func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
		return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if guarded[req.Params.Name] && roleOf(ctx) != admin {
				return nil, errAdminOnly
			}
			return next(ctx, req)
		}
	}
}
