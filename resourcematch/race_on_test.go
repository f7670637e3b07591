//go:build race

package resourcematch_test

const raceEnabled = true
