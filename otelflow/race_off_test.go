//go:build !race

package otelflow_test

const raceEnabled = false
