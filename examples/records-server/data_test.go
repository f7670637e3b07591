package main

import (
	"encoding/csv"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

func newStore(t *testing.T) *store {
	t.Helper()
	s, err := openStore(embedded)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEmbeddedDataIsConsistent(t *testing.T) {
	s := newStore(t)
	if want := []string{"customers", "invoices", "orders", "products"}; !slices.Equal(s.names, want) {
		t.Fatalf("tables %q, want %q", s.names, want)
	}
	refs := []struct{ table, column, to string }{
		{"orders", "customer", "customers"},
		{"orders", "product", "products"},
		{"invoices", "order", "orders"},
	}
	for _, ref := range refs {
		ids, _ := s.ids(ref.table, "", 1000)
		for _, id := range ids {
			r, err := s.get(ref.table, id)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.get(ref.to, r[ref.column]); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
	for _, row := range s.all() {
		if slices.Contains(row, "") {
			t.Errorf("blank field in %q", row)
		}
	}
}

func TestOpenStoreRefusesBadFiles(t *testing.T) {
	tests := map[string]fstest.MapFS{
		"no id column":     {"data/a.csv": {Data: []byte("name\nx\n")}},
		"empty":            {"data/a.csv": {Data: nil}},
		"ragged":           {"data/a.csv": {Data: []byte("id,n\n1\n")}},
		"id in two tables": {"data/a.csv": {Data: []byte("id\n1\n")}, "data/b.csv": {Data: []byte("id\n1\n")}},
	}
	for name, fsys := range tests {
		if _, err := openStore(fsys); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSearch(t *testing.T) {
	s := newStore(t)
	tests := []struct {
		query string
		limit int
		ids   []string
		total int
	}{
		{"ADA", 10, []string{"c-001"}, 1},
		{"overdue", 10, []string{"i-5004", "i-5009"}, 2},
		{"p-04", 2, []string{"o-1002", "o-1005"}, 4}, // two orders more, and the product
		{"no such text", 10, nil, 0},
		{strings.Repeat("x", 1<<20), 10, nil, 0},
	}
	for _, tt := range tests {
		hits, total := s.search(tt.query, tt.limit)
		var ids []string
		for _, h := range hits {
			ids = append(ids, h.ID)
		}
		if !slices.Equal(ids, tt.ids) || total != tt.total {
			t.Errorf("%.20q: %q of %d, want %q of %d", tt.query, ids, total, tt.ids, tt.total)
		}
	}
}

func TestExportIsTheWholeTable(t *testing.T) {
	s := newStore(t)
	text, err := s.csv("invoices")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := s.counts()["invoices"] + 1; len(rows) != want {
		t.Errorf("%d lines, want %d", len(rows), want)
	}
	if _, err := s.csv("Invoices"); err == nil {
		t.Error("a table that does not exist was exported")
	}
}

func TestDeleteTakesEffectEverywhere(t *testing.T) {
	s := newStore(t)
	before := s.counts()["orders"]
	if table, err := s.remove("o-1003"); err != nil || table != "orders" {
		t.Fatalf("%q, %v", table, err)
	}
	if _, err := s.get("orders", "o-1003"); err == nil {
		t.Error("still there")
	}
	if text, _ := s.csv("orders"); strings.Contains(text, "o-1003") {
		t.Error("still exported")
	}
	if n := s.counts()["orders"]; n != before-1 {
		t.Errorf("%d rows, want %d", n, before-1)
	}
	if _, err := s.remove("o-1003"); err == nil {
		t.Error("deleted twice")
	}
	if _, err := newStore(t).get("orders", "o-1003"); err != nil {
		t.Error("the embedded data changed:", err)
	}
}

func TestReport(t *testing.T) {
	r, err := newStore(t).report("invoices")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Columns, func(c columnReport) bool { return c.Name == "amount" })
	amount := r.Columns[i]
	if r.Rows != 11 || amount.Sum == nil || *amount.Sum != 1574.5 || *amount.Least != 18.5 || *amount.Most != 480 {
		t.Errorf("%d rows, amount %+v", r.Rows, amount)
	}
	if r.Columns[0].Sum != nil {
		t.Error("ids were added up")
	}
}

func TestArchiveKeepsTheLatest(t *testing.T) {
	s := newStore(t)
	first, err := s.archive("orders")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.remove("o-1003"); err != nil {
		t.Fatal(err)
	}
	second, err := s.archive("orders")
	if err != nil {
		t.Fatal(err)
	}
	if first.SHA256 == second.SHA256 || second.Rows != first.Rows-1 {
		t.Errorf("%+v, then %+v", first, second)
	}
	if kept := s.archives["orders"]; kept.SHA256 != second.SHA256 || len(kept.data) != kept.Bytes {
		t.Errorf("kept %+v", kept)
	}
	if _, err := s.archive("nothing"); err == nil {
		t.Error("a table that does not exist was archived")
	}
}

func TestStoreUnderConcurrentUse(t *testing.T) {
	s := newStore(t)
	ids, _ := s.ids("orders", "", 1000)
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			s.search("a", 5)
			if _, err := s.remove(id); err != nil {
				t.Error(err)
			}
			s.where("orders", "customer", "c-001")
			countBlank(s.all())
			if _, err := s.archive("orders"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := s.counts()["orders"]; n != 0 {
		t.Errorf("%d orders left", n)
	}
}
