package middleware_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
)

// quietly is a configuration that logs nothing, which keeps the output of examples short.
func quietly() middleware.Config {
	return middleware.Config{URI: "https://records.example/mcp", Logger: slog.New(slog.DiscardHandler)}
}

// unlabelled is a call of which nobody says where it came from.
const unlabelled = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export"}}`

// onStdin lets a function read text as the process's standard input.
func onStdin(text string, f func() error) error {
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	if _, err := io.WriteString(out, text+"\n"); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	was := os.Stdin
	os.Stdin = in
	defer func() { os.Stdin = was }()
	return f()
}

// sendTo sends a call to a handler and prints the answer.
func sendTo(h http.Handler, path, message string) {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(message))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Print(w.Body)
}

// Standard input and output belong to the client; the log must go elsewhere.
func ExampleServeStdio() {
	s := exportServer()
	err := onStdin(unlabelled, func() error { // as the client that starts this process
		return middleware.ServeStdio(s, quietly())
	})
	fmt.Println(err)
	// Output:
	// {"jsonrpc":"2.0","id":1,"error":{"code":403,"message":"Request rejected by flow policy","data":{"io.modelcontextprotocol/flowPolicyViolation":{"rejected":[{"assurance":"unverified"}],"acceptFrom":["self","user"]}}}}
	// <nil>
}

// A server on several transports makes one gate and takes them from it.
func ExampleNew() {
	gate, err := middleware.New(exportServer(), quietly())
	if err != nil {
		fmt.Println(err)
		return
	}
	handler, err := gate.Handler(server.WithStateLess(true))
	if err != nil {
		fmt.Println(err)
		return
	}
	sendTo(handler, "/mcp", unlabelled) // where http.ListenAndServe would serve it
	fmt.Println(onStdin(unlabelled, func() error { return gate.ServeStdio() }))
	// Output:
	// {"jsonrpc":"2.0","id":1,"error":{"code":403,"message":"Request rejected by flow policy","data":{"io.modelcontextprotocol/flowPolicyViolation":{"rejected":[{"assurance":"unverified"}],"acceptFrom":["self","user"]}}}}
	// {"jsonrpc":"2.0","id":1,"error":{"code":403,"message":"Request rejected by flow policy","data":{"io.modelcontextprotocol/flowPolicyViolation":{"rejected":[{"assurance":"unverified"}],"acceptFrom":["self","user"]}}}}
	// <nil>
}

// Any router will do. Handler returns what is wrong where MustHandler panics.
func ExampleHandler() {
	handler, err := middleware.Handler(exportServer(), quietly(), server.WithStateLess(true))
	if err != nil {
		fmt.Println(err)
		return
	}
	router := chi.NewRouter()
	router.Handle("/mcp", handler)
	sendTo(router, "/mcp", unlabelled)

	_, err = middleware.Handler(exportServer(), middleware.Config{URI: "records"})
	fmt.Println(err)
	// Output:
	// {"jsonrpc":"2.0","id":1,"error":{"code":403,"message":"Request rejected by flow policy","data":{"io.modelcontextprotocol/flowPolicyViolation":{"rejected":[{"assurance":"unverified"}],"acceptFrom":["self","user"]}}}}
	// flowgate: uri: unusable-uri: "records": the URI is not absolute; write an absolute URI such as https://host.example/mcp, or a urn
}

// The legacy transport has two endpoints: requests are posted to one, and the answers come
// on a stream from the other.
func ExampleGate_SSE() {
	gate, err := middleware.New(exportServer(), quietly())
	if err != nil {
		fmt.Println(err)
		return
	}
	handler, err := gate.SSE()
	if err != nil {
		fmt.Println(err)
		return
	}
	web := httptest.NewServer(handler)
	defer web.Close()
	defer handler.CloseSessions()

	stream, err := http.Get(web.URL + "/sse")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Body.Close()
	events := bufio.NewScanner(stream.Body)
	next := func() string {
		for events.Scan() {
			if data, ok := strings.CutPrefix(events.Text(), "data: "); ok {
				return data
			}
		}
		return ""
	}
	posted, err := http.Post(web.URL+next(), "application/json", strings.NewReader(unlabelled))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer posted.Body.Close()
	fmt.Println(next())
	// Output:
	// {"jsonrpc":"2.0","id":1,"error":{"code":403,"message":"Request rejected by flow policy","data":{"io.modelcontextprotocol/flowPolicyViolation":{"rejected":[{"assurance":"unverified"}],"acceptFrom":["self","user"]}}}}
}

// mcp-go's typed client says that a call was refused, and no more; Gate.InProcess has the rest.
func ExampleNewInProcessClient() {
	c, err := middleware.NewInProcessClient(exportServer(), quietly())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx := context.Background()
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "export"}})
	fmt.Println(err)
	// Output:
	// Request rejected by flow policy
}
