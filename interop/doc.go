// Package interop has no code but tests and what they test: clients that nobody here
// wrote talk to the example servers of this repository. They list what a server has, are
// refused, read the refusal, and go on working in the same session.
//
// The clients are the official Go SDK, both official TypeScript SDKs (the package
// @modelcontextprotocol/sdk and its successor, @modelcontextprotocol/client) and the
// command line of the MCP Inspector; each over Streamable HTTP and stdio, and in every
// protocol era that it speaks.
//
// The official conformance suite of MCP tests a server that offers all it asks for, in the
// directory everything: without a gate, and with one in each mode. What it says must be the
// same in all of them, and expected-failures.json names each check that fails without a
// gate too, with the run of the suite in which it fails and the reason.
//
// The Go SDK needs nothing but this module:
//
//	go test -count=1 ./...
//
// The others need Node, which comes from npm with them (Linux, and macOS on ARM):
//
//	(cd node && npm ci)
//	go test -count=1 -tags interop ./...
//
// The page of flowgate report is opened in Chromium, which comes from Debian (apt-get
// install chromium fonts-dejavu-core).
//
// This is a module of its own so that no SDK becomes a dependency of flowgate. The
// example servers are built with the main module's go.mod and run as processes. So go test does
// not notice that they have changed, and -count=1 keeps it from repeating what it said
// of an earlier one.
package interop
