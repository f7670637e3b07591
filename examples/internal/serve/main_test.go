package serve

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
)

func TestExitCode(t *testing.T) {
	tests := []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{flag.ErrHelp, 0, ""},
		{fmt.Errorf("%w: x", ErrUsage), 2, ""}, // the flag package has explained it
		{errors.New("boom"), 1, "name: boom\n"},
	}
	for _, tt := range tests {
		var w strings.Builder
		if code := exitCode("name", tt.err, &w); code != tt.code || w.String() != tt.text {
			t.Errorf("%v: %d %q", tt.err, code, w.String())
		}
	}
}
