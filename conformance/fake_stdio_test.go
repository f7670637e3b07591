package conformance_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/conformance"
)

// stdioFake is the variable by which the program of these tests becomes a fake over stdio.
const stdioFake = "FLOWGATE_TEST_STDIO_FAKE"

func init() {
	if broken, ok := os.LookupEnv(stdioFake); ok {
		serveStdio(&fake{broken: broken, runs: map[string]int{}})
		os.Exit(0)
	}
}

// Over stdio nothing ends the silence after a request that is taken for a notification, and
// what is said instead of silence is found all the same.
func TestNullIDOverStdio(t *testing.T) {
	for broken, want := range map[string][]string{"": nil, "takes null for a notification": nil, "takes null for an id": {"L8"}, "answers null": {"L8"}} {
		t.Setenv(stdioFake, broken)
		target := conformance.Target{Command: []string{os.Args[0]}}
		r := run(t, target, conformance.Options{Era: stateful, Timeout: time.Minute})
		failed(t, r, stateful, want)
		if c := r.Find("L8", stateful); c.Reason != "" {
			t.Errorf("%q: %s", broken, c.Reason)
		}
	}
}

// serveStdio answers what comes on standard input, until it ends.
func serveStdio(f *fake) {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(line)))
		if w.Body.Len() > 0 {
			fmt.Printf("%s\n", w.Body)
		}
	}
}
