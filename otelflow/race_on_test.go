//go:build race

package otelflow_test

// raceEnabled: the race detector makes code allocate that otherwise does not.
const raceEnabled = true
