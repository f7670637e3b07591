package main

import (
	"math"
	"strconv"
)

// report sums up a table without showing a single record.
type report struct {
	Table   string         `json:"table"`
	Rows    int            `json:"rows"`
	Columns []columnReport `json:"columns"`
}

// columnReport sums up one column. Sum, least and most are only there when
// every value of the column is a number.
type columnReport struct {
	Name     string   `json:"name"`
	Distinct int      `json:"distinct"`
	Sum      *float64 `json:"sum,omitempty"`
	Least    *float64 `json:"least,omitempty"`
	Most     *float64 `json:"most,omitempty"`
}

// report builds the report of a table.
func (s *store) report(name string) (report, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, ok := s.tables[name]
	if !ok {
		return report{}, s.noTable(name)
	}
	r := report{Table: name, Rows: len(t.rows)}
	for i, column := range t.columns {
		r.Columns = append(r.Columns, reportColumn(column, t.rows, i))
	}
	return r, nil
}

func reportColumn(name string, rows [][]string, i int) columnReport {
	distinct := make(map[string]bool)
	sum, least, most := 0.0, math.Inf(1), math.Inf(-1)
	numbers := len(rows) > 0
	for _, row := range rows {
		distinct[row[i]] = true
		v, err := strconv.ParseFloat(row[i], 64)
		numbers = numbers && err == nil
		sum, least, most = sum+v, min(least, v), max(most, v)
	}
	r := columnReport{Name: name, Distinct: len(distinct)}
	if numbers {
		sum = math.Round(sum*100) / 100
		r.Sum, r.Least, r.Most = &sum, &least, &most
	}
	return r
}
