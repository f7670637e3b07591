package serve

import (
	"log/slog"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

const (
	sessionIdleTTL    = time.Hour
	heartbeatInterval = 30 * time.Second
)

// OptionalSession hands out a session id on initialize, like mcp-go's default,
// and also serves a client of the earlier protocol era that sends none. The
// default answers such a client with 404.
type OptionalSession struct {
	server.StatelessGeneratingSessionIdManager
}

// Validate accepts a missing id and otherwise asks for mcp-go's own form.
func (m *OptionalSession) Validate(id string) (isTerminated bool, err error) {
	if id == "" {
		return false, nil
	}
	return m.StatelessGeneratingSessionIdManager.Validate(id)
}

// MCPOptions are the transport options of both servers.
func MCPOptions(log *slog.Logger) []server.StreamableHTTPOption {
	return []server.StreamableHTTPOption{
		server.WithSessionIdManager(&OptionalSession{}),
		server.WithSessionIdleTTL(sessionIdleTTL),       // clients that leave without DELETE
		server.WithHeartbeatInterval(heartbeatInterval), // keeps GET streams through proxies
		server.WithStreamableHTTPLogger(log),
	}
}
