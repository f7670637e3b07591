package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/flowgate-mcp/flowgate/bench"
)

// duration writes nanoseconds with three digits.
func duration(ns float64) string {
	for _, u := range []struct {
		limit, by float64
		name      string
	}{{1e3, 1, "ns"}, {1e6, 1e3, "µs"}, {1e9, 1e6, "ms"}} {
		if ns < u.limit*0.9995 {
			return digits(ns/u.by) + " " + u.name
		}
	}
	return digits(ns/1e9) + " s"
}

// times writes a factor.
func times(f float64) string { return digits(f) + " ×" }

// digits writes a number with three digits, or more if it is a thousand or more.
func digits(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "?"
	}
	places := 2
	for limit := 9.995; places > 0 && math.Abs(f) >= limit; limit *= 10 {
		places--
	}
	return strconv.FormatFloat(f, 'f', places, 64)
}

// percent writes a ratio as what it is more or less than one.
func percent(ratio float64) string {
	if math.IsNaN(ratio) {
		return "?"
	}
	more := math.Round((ratio-1)*1000)/10 + 0 // + 0 makes of −0 a 0
	return strings.Replace(fmt.Sprintf("%+.1f %%", more), "-", "−", 1)
}

// count writes a number of allocations or bytes.
func count(f float64) string {
	if f < 0.5 {
		return "0"
	}
	return strconv.FormatFloat(math.Round(f), 'f', 0, 64)
}

// sizeName writes a size with a space before its unit, as prose does.
func sizeName(n int) string {
	name := bench.SizeName(n)
	i := strings.IndexFunc(name, func(r rune) bool { return r > '9' })
	return name[:i] + " " + name[i:]
}

// axis writes a duration that is a power of ten.
func axis(ns float64) string {
	number, unit, _ := strings.Cut(duration(ns), " ")
	if whole, _, fraction := strings.Cut(number, "."); fraction {
		number = whole
	}
	return number + " " + unit
}
