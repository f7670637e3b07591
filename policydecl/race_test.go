//go:build race

package policydecl_test

// The race detector allocates on its own account.
const raceEnabled = true
