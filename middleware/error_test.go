package middleware_test

import (
	"encoding/json"
	"testing"
)

// errorCode reads the code of an error object.
func errorCode(t testing.TB, object json.RawMessage) int {
	t.Helper()
	var e struct{ Code int }
	if err := json.Unmarshal(object, &e); err != nil {
		t.Fatalf("no error object: %s", object)
	}
	return e.Code
}
