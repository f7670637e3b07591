package overrides_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// inFile runs an example with a file of overrides, which is there as long as it runs.
func inFile(text string, f func(path string)) {
	dir, err := os.MkdirTemp("", "overrides-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "overrides.yaml")
	replace(path, text)
	f(path)
}

// replace writes another file and renames it, so that nobody reads half of one.
func replace(path, text string) {
	if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
		panic(err)
	}
}

// recordsServer is the server that the overrides are about.
func recordsServer() *server.MCPServer {
	s := server.NewMCPServer("records", "1.0.0")
	err := middleware.AddTool(s, mcp.NewTool("export_records"), policydecl.AcceptFrom("self", "user"),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("id,name"), nil
		})
	if err != nil {
		panic(err)
	}
	return s
}

// A server reads its overrides at start, and stops there if they are broken.
func ExampleLoad() {
	inFile("flowgate: 1\ntools:\n  export_records: {acceptFrom: [user]}\n", func(path string) {
		o, err := overrides.Load(path)
		if err != nil {
			fmt.Println(err)
			return
		}
		gate, err := middleware.New(recordsServer(), middleware.Config{
			URI: "https://records.example/mcp", Overrides: o, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(gate.Overrides().Targets[0].Name, gate.Overrides().Targets[0].Policy.Tokens())

		_, err = overrides.Load(filepath.Join(filepath.Dir(path), "other.yaml"))
		fmt.Println(errors.Is(err, fs.ErrNotExist))
	})
	// Output:
	// export_records [user]
	// true
}

// announced is a gate that says what was applied to it. A server of one's own hands Watch the
// gate itself, which logs that.
type announced struct {
	*middleware.Gate
	applied chan<- overrides.Overrides
}

func (g announced) Apply(o overrides.Overrides) error {
	err := g.Gate.Apply(o)
	if err == nil {
		g.applied <- o
	}
	return err
}

// A running server follows its file.
func ExampleWatch() {
	inFile("flowgate: 1\ndefault: {acceptFrom: [self, user]}\n", func(path string) {
		quiet := slog.New(slog.DiscardHandler)
		gate, err := middleware.New(recordsServer(), middleware.Config{URI: "https://records.example/mcp", Logger: quiet})
		if err != nil {
			fmt.Println(err)
			return
		}
		ctx, stop := context.WithCancel(context.Background())
		applied, done := make(chan overrides.Overrides, 2), make(chan error)
		go func() {
			done <- overrides.Watch(ctx, path, announced{gate, applied}, overrides.WatchConfig{Logger: quiet, Interval: time.Millisecond})
		}()
		fmt.Println((<-applied).Default.Tokens())
		replace(path, "flowgate: 1\ndefault: {acceptFrom: [user]}\n")
		fmt.Println((<-applied).Default.Tokens())
		stop()
		fmt.Println(<-done)
	})
	// Output:
	// [self user]
	// [user]
	// <nil>
}
