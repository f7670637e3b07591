package near_test

import (
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/near"
)

func TestName(t *testing.T) {
	known := []string{"export_records", "search_records", "delete_record", "x", strings.Repeat("a", 200)}
	for name, want := range map[string]string{
		"export_record":           "export_records",
		"ExportRecords":           "export_records",
		"exprot_records":          "export_records",
		"delete-records":          "delete_record",
		"seach.records":           "search_records",
		"X":                       "x",
		"y":                       "",
		"":                        "",
		"summarise":               "",
		strings.Repeat("a", 200):  "",
		strings.Repeat("é", 5000): "",
	} {
		if got := near.Name(name, known); got != want {
			t.Errorf("%.40q: %q, want %q", name, got, want)
		}
	}
	if got := near.Name("b", []string{"ab", "ac"}); got != "" {
		t.Errorf("half of it differs: %q", got)
	}
	if got := near.Name("abcd", []string{"abce", "abca"}); got != "abca" {
		t.Errorf("of two that are equally near: %q", got)
	}
	if got := near.Name("x", nil); got != "" {
		t.Errorf("nothing is known: %q", got)
	}
}

// What is the same for all comparisons is done once: each takes no more than its own name
// and a row of numbers.
func TestNameAllocations(t *testing.T) {
	known := make([]string, 1000)
	for i := range known {
		known[i] = "Export_Records-" + strings.Repeat("x", i%50)
	}
	if n := testing.AllocsPerRun(5, func() { near.Name("Exprot_Records", known) }); n > 4*1000 {
		t.Errorf("%v allocations for %d names", n, len(known))
	}
}
