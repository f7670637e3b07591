package middleware_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// inProcessLine is a transport inside the process.
type inProcessLine struct {
	transport     transport.Interface
	ran           *tally
	notifications chan mcp.JSONRPCNotification
}

func startInProcess(t testing.TB, tr transport.Interface, ran *tally) *inProcessLine {
	t.Helper()
	l := &inProcessLine{transport: tr, ran: ran, notifications: make(chan mcp.JSONRPCNotification, 100)}
	tr.SetNotificationHandler(func(n mcp.JSONRPCNotification) { l.notifications <- n })
	if err := tr.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.Close() })
	var init transport.JSONRPCRequest
	if err := json.Unmarshal([]byte(initialize), &init); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.SendRequest(deadline(t), init); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *inProcessLine) exchange(t testing.TB, e era, r request) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan answer, 1)
	go func() {
		resp, err := l.transport.SendRequest(ctx, transport.JSONRPCRequest{
			JSONRPC: "2.0", ID: mcp.NewRequestId(json.RawMessage(r.rawID())), Method: r.method, Params: json.RawMessage(r.paramsJSON(e)),
		})
		if err != nil {
			t.Errorf("SendRequest: %v", err)
			done <- answer{}
			return
		}
		m, err := json.Marshal(resp)
		if err != nil {
			t.Errorf("the answer: %v", err)
		}
		done <- answer{messages: []json.RawMessage{m}}
	}()
	var before []json.RawMessage
	for {
		select {
		case a := <-done:
			a.messages = append(before, a.messages...)
			for len(l.notifications) > 0 {
				m, _ := json.Marshal(<-l.notifications)
				a.messages = append(a.messages, m)
			}
			return a
		case n := <-l.notifications:
			m, _ := json.Marshal(n)
			before = append(before, m)
			if isAcknowledgement(m) {
				cancel()
				<-done
				return answer{messages: before}
			}
		}
	}
}

func (l *inProcessLine) took(testing.TB) map[string]int { return l.ran.take() }

func (l *inProcessLine) wait(t testing.TB, what string) {
	t.Helper()
	if !l.ran.wait(deadline(t), what) {
		t.Fatalf("%s did not happen: %v", what, l.ran.peek())
	}
}

func (l *inProcessLine) settle(t testing.TB) {
	t.Helper()
	select {
	case <-l.notifications: // notifications/tasks/status
	case <-deadline(t).Done():
		t.Fatal("no notification of the task")
	}
}

// object is the error as mcp-go's transport decodes it: its members have no order
// any more.
func (l *inProcessLine) object(t testing.TB, o string) string {
	t.Helper()
	return decoded(t, o)
}

// inProcessControl is a transport to r without a gate.
func inProcessControl(r *recipient) transport.Interface {
	return transport.NewInProcessTransport(plain(r.server))
}
