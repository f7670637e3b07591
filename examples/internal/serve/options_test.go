package serve

import (
	"errors"
	"flag"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const addr = "127.0.0.1:1"
	tests := []struct {
		args string
		text string // what a mistake is explained with
	}{
		{"", ""},
		{"-stdio", ""},
		{"-addr " + addr, ""},
		{"-addr " + addr + " -stdio=false", ""},
		{"-addr 127.0.0.1:2 -stdio", "-addr and -stdio exclude each other"},
		{"-stdio -addr " + addr, "-addr and -stdio exclude each other"}, // the default, but given
		{"stdio", `unexpected argument "stdio"`},
		{"-nope", "-nope"},
	}
	for _, tt := range tests {
		var w strings.Builder
		var o Options
		fs := flag.NewFlagSet("name", flag.ContinueOnError)
		fs.SetOutput(&w)
		o.Register(fs, addr, "https://name.example/mcp")
		err := o.Parse(fs, strings.Fields(tt.args))
		if errors.Is(err, ErrUsage) != (tt.text != "") || !strings.Contains(w.String(), tt.text) {
			t.Errorf("%q: %v\n%s", tt.args, err, &w)
		}
		if explained := strings.Contains(w.String(), "Usage of name:"); explained != (tt.text != "") {
			t.Errorf("%q: %s", tt.args, &w)
		}
	}
}
