//go:build !race

package policydecl_test

const raceEnabled = false
