package serve

import (
	"errors"
	"flag"
	"fmt"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// ErrUsage marks a mistake on the command line that has already been explained
// on standard error, together with the usage text.
var ErrUsage = errors.New("invalid command line")

// Options are the flags that both example servers take.
type Options struct {
	Addr  string // where to listen; port 0 picks a free one
	Stdio bool   // serve standard input and output instead of HTTP
	URI   string // the server's own canonical URI, which "self" means
	Debug bool   // debug log and GET /debug/invocations

	Mode             middleware.Mode // enforce, unless -mode says otherwise
	ReportUndeclared bool            // only report what hosts send that never label
	Overrides        string          // file of the operator's overrides; "" for none
	Records          string          // file to append decision records to; "" for none
}

// Register declares the flags on fs, with the given default address and URI.
func (o *Options) Register(fs *flag.FlagSet, addr, uri string) {
	fs.StringVar(&o.Addr, "addr", addr, "`host:port` to listen on; port 0 picks a free port")
	fs.BoolVar(&o.Stdio, "stdio", false, "serve standard input and output instead of HTTP; not with -addr")
	fs.StringVar(&o.URI, "uri", uri, "the server's own canonical `URI`")
	fs.BoolVar(&o.Debug, "debug", false, "log more and count handler runs (GET /debug/invocations; on stdio at the end)")
	fs.Func("mode", "`mode` of the flow policy: enforce, report or off (default enforce)", func(s string) (err error) {
		o.Mode, err = policydecl.ParseMode(s)
		return err
	})
	fs.BoolVar(&o.ReportUndeclared, "dangerously-report-undeclared", false, "only report what hosts send that state their capabilities without flow.origin")
	fs.StringVar(&o.Overrides, "overrides", "", "`file` of policy overrides, in YAML or JSON; read again when it changes and on SIGHUP")
	fs.StringVar(&o.Records, "records", "", "`file` to append decision records to, as JSON lines")
}

// Parse reads args into the flags of fs, among them those of o. It refuses what
// is left over, and an address that would not be listened on. Its error is
// [flag.ErrHelp] or wraps [ErrUsage].
func (o *Options) Parse(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if fs.NArg() > 0 {
		return misuse(fs, fmt.Sprintf("unexpected argument %q", fs.Arg(0)))
	}
	addrGiven := false // even if it is the default
	fs.Visit(func(f *flag.Flag) { addrGiven = addrGiven || f.Name == "addr" })
	if o.Stdio && addrGiven {
		return misuse(fs, "-addr and -stdio exclude each other: on stdio there is nothing to listen on")
	}
	return nil
}

// misuse explains a mistake the way the flag package explains its own.
func misuse(fs *flag.FlagSet, mistake string) error {
	fmt.Fprintln(fs.Output(), mistake)
	fs.Usage()
	return fmt.Errorf("%w: %s", ErrUsage, mistake)
}
