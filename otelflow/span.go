package otelflow

import (
	"encoding/json"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/flowgate-mcp/flowgate/decision"
)

// errorTypePrefix stands before the verdict in error.type.
const errorTypePrefix = "flowgate."

// spanKeys are the attributes of spans, by those of a record. The rest of a record's
// attributes are not about this request, or need more than another name. What a record
// has as attributes is escaped and bounded already (M3).
var spanKeys = map[string]attribute.Key{
	decision.KeyMethod:     semconv.McpMethodNameKey,
	decision.KeyVerdict:    KeyVerdict,
	decision.KeyMode:       KeyMode,
	decision.KeyReason:     KeyReason,
	decision.KeyLabel:      KeyLabel,
	decision.KeyRegistered: KeyRegistered,
	decision.KeyFlowOrigin: KeyFlowOrigin,
	decision.KeyRejected:   KeyRejected,
	decision.KeyMore:       KeyRejectedMore,
	decision.KeyAcceptFrom: KeyAcceptFrom,
	decision.KeyPolicy:     KeyPolicy,
	decision.KeySettings:   KeySettings,
	decision.KeyServer:     KeyServer,
	decision.KeySession:    KeySession,
	decision.KeyProtocol:   semconv.McpProtocolVersionKey,
	decision.KeyClient:     KeyClient,
	decision.KeyDetail:     KeyDetail,
	decision.KeyTook:       KeyTook,
}

// attributes returns what a span shows of r.
func (s *sink) attributes(r *decision.Record) []attribute.KeyValue {
	var room [24]slog.Attr
	attrs := r.Attrs(room[:0])
	kvs := make([]attribute.KeyValue, 0, len(attrs)+3)
	for _, a := range attrs {
		key, ok := spanKeys[a.Key]
		switch {
		case a.Key == decision.KeyTarget:
			key = targetKeyOf(r.Method)
		case !ok, a.Key == decision.KeyAcceptFrom && !r.Verdict.Objects():
			continue
		}
		if v := value(a.Value); v.Type() != attribute.EMPTY {
			kvs = append(kvs, attribute.KeyValue{Key: key, Value: v})
		}
	}
	if id := requestID(r.RequestID); id != "" {
		kvs = append(kvs, semconv.JSONRPCRequestID(decision.Shown(id)))
	}
	switch {
	case r.WouldStop():
		kvs = append(kvs, KeyWouldStop.Bool(true))
	case r.Stopped():
		kvs = append(kvs, KeyStopped.Bool(true))
		if s.mcpSpan {
			kvs = append(kvs, semconv.ErrorTypeKey.String(errorTypePrefix+r.Verdict.String()))
		}
	}
	return kvs
}

// value returns v as OpenTelemetry has it. An empty text, and what a record has no
// attributes of, is no value. Times are in seconds.
func value(v slog.Value) attribute.Value {
	switch v.Kind() {
	case slog.KindString:
		if v.String() != "" {
			return attribute.StringValue(v.String())
		}
	case slog.KindBool:
		return attribute.BoolValue(v.Bool())
	case slog.KindInt64:
		return attribute.Int64Value(v.Int64())
	case slog.KindDuration:
		return attribute.Float64Value(v.Duration().Seconds())
	case slog.KindAny:
		if list, ok := v.Any().([]string); ok {
			return attribute.StringSliceValue(list)
		}
	}
	return attribute.Value{}
}

// targetKeyOf returns the key under which a span shows the target of that method. It is
// never mcp.resource.uri, which is the URI that was asked for: a record does not hold that.
func targetKeyOf(method string) attribute.Key {
	switch method {
	case "tools/call":
		return semconv.GenAIToolNameKey
	case "prompts/get":
		return semconv.GenAIPromptNameKey
	}
	return KeyTarget
}

// requestID returns the id as the conventions want it: a string without its quotes, and
// nothing for null. What is no JSON, because it was cut, stays as it is.
func requestID(id string) string {
	if id == "null" {
		return ""
	}
	var s string
	if len(id) > 0 && id[0] == '"' && json.Unmarshal([]byte(id), &s) == nil {
		return s
	}
	return id
}
