package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed data/*.csv
var embedded embed.FS

// customersTable is the one table with stricter policies than the rest.
const customersTable = "customers"

// table is one CSV file: a header and rows whose first column is the id.
type table struct {
	columns []string
	rows    [][]string
}

// store is the data set, in memory. Reading copies out, so nothing that a
// caller keeps changes when a record is deleted. Safe for concurrent use.
type store struct {
	mu       sync.RWMutex
	names    []string // of the tables, sorted
	tables   map[string]*table
	archives map[string]archive // the latest of each table
}

// record is one row with its column names.
type record map[string]string

// hit is one record that a search found.
type hit struct {
	Table  string `json:"table"`
	ID     string `json:"id"`
	Record record `json:"record"`
}

// archive is a compressed copy of a table, as it was when it was made.
type archive struct {
	Table  string `json:"table"`
	Rows   int    `json:"rows"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`

	data []byte
}

// openStore reads every CSV file in the directory data of fsys.
func openStore(fsys fs.FS) (*store, error) {
	files, err := fs.Glob(fsys, "data/*.csv")
	if err != nil {
		return nil, err
	}
	s := &store{tables: make(map[string]*table), archives: make(map[string]archive)}
	seen := make(map[string]string)
	for _, file := range files {
		f, err := fsys.Open(file)
		if err != nil {
			return nil, err
		}
		all, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(all) == 0 || all[0][0] != "id" {
			return nil, fmt.Errorf("%s: the first column must be id", file)
		}
		for _, row := range all[1:] {
			if other, dup := seen[row[0]]; dup {
				return nil, fmt.Errorf("%s: id %q is already used in %s", file, row[0], other)
			}
			seen[row[0]] = file
		}
		name := strings.TrimSuffix(path.Base(file), ".csv")
		s.names = append(s.names, name)
		s.tables[name] = &table{columns: all[0], rows: all[1:]}
	}
	slices.Sort(s.names)
	return s, nil
}

// search returns the first limit records with a field that contains query, in
// any case, and how many there are in all.
func (s *store) search(query string, limit int) (hits []hit, total int) {
	needle := strings.ToLower(query)
	s.mu.RLock()
	defer s.mu.RUnlock()
	hits = []hit{}
	for _, name := range s.names {
		t := s.tables[name]
		for _, row := range t.rows {
			matches := func(field string) bool { return strings.Contains(strings.ToLower(field), needle) }
			if !slices.ContainsFunc(row, matches) {
				continue
			}
			if total++; len(hits) < limit {
				hits = append(hits, hit{Table: name, ID: row[0], Record: t.record(row)})
			}
		}
	}
	return hits, total
}

// csv returns a whole table as CSV.
func (s *store) csv(name string) (string, error) {
	text, _, err := s.csvWithCount(name)
	return text, err
}

func (s *store) csvWithCount(name string) (text string, rows int, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, ok := s.tables[name]
	if !ok {
		return "", 0, s.noTable(name)
	}
	var buf strings.Builder
	w := csv.NewWriter(&buf)
	if err := w.WriteAll(append([][]string{t.columns}, t.rows...)); err != nil {
		return "", 0, err
	}
	return buf.String(), len(t.rows), nil
}

// get returns one record of a table.
func (s *store) get(name, id string) (record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, ok := s.tables[name]
	if !ok {
		return nil, s.noTable(name)
	}
	for _, row := range t.rows {
		if row[0] == id {
			return t.record(row), nil
		}
	}
	return nil, fmt.Errorf("no record %.40q in %s", id, name)
}

// where returns the records of a table whose column has the given value.
func (s *store) where(name, column, value string) []record {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.tables[name]
	i := slices.Index(t.columns, column)
	found := []record{}
	for _, row := range t.rows {
		if row[i] == value {
			found = append(found, t.record(row))
		}
	}
	return found
}

// remove deletes the record with this id, whatever table it is in. Ids are
// unique over all tables.
func (s *store) remove(id string) (tableName string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.names {
		t := s.tables[name]
		for i, row := range t.rows {
			if row[0] == id {
				t.rows = slices.Delete(t.rows, i, i+1)
				return name, nil
			}
		}
	}
	return "", fmt.Errorf("no record %.40q", id)
}

// ids returns the first limit ids of a table that start with prefix, and how
// many there are in all.
func (s *store) ids(name, prefix string, limit int) (ids []string, total int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ids = []string{}
	for _, row := range s.tables[name].rows {
		if !strings.HasPrefix(row[0], prefix) {
			continue
		}
		if total++; len(ids) < limit {
			ids = append(ids, row[0])
		}
	}
	return ids, total
}

// archive compresses a table and keeps the copy in place of an earlier one.
func (s *store) archive(name string) (archive, error) {
	text, rows, err := s.csvWithCount(name)
	if err != nil {
		return archive{}, err
	}
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	if _, err := zw.Write([]byte(text)); err != nil {
		return archive{}, err
	}
	if err := zw.Close(); err != nil {
		return archive{}, err
	}
	sum := sha256.Sum256(buf.Bytes())
	a := archive{Table: name, Rows: rows, Bytes: buf.Len(), SHA256: hex.EncodeToString(sum[:]), data: buf.Bytes()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.archives[name] = a
	return a, nil
}

// counts returns the number of rows of each table.
func (s *store) counts() map[string]int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := make(map[string]int, len(s.tables))
	for name, t := range s.tables {
		n[name] = len(t.rows)
	}
	return n
}

// all returns every row of every table, in a fixed order.
func (s *store) all() [][]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var rows [][]string
	for _, name := range s.names {
		rows = append(rows, s.tables[name].rows...)
	}
	return rows
}

func (s *store) noTable(name string) error {
	return fmt.Errorf("no table %.40q; there are %s", name, strings.Join(s.names, ", "))
}

func (t *table) record(row []string) record {
	r := make(record, len(row))
	for i, column := range t.columns {
		r[column] = row[i]
	}
	return r
}
