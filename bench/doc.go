// Package bench compares flowgate with what one could use in its place, in one run:
// the decision with cedar-go, with OPA's Go library and with a plain Go version of the
// draft's prototype; the gate with mcp-go bare and with a middleware written by hand.
//
// What is timed stands in one table, [Groups]. The tests check that all sides of a
// comparison give the same answers, the benchmarks run each side alone, and the report
// runs the sides of each comparison in turn and writes docs/benchmarks.md and
// docs/benchmarks.svg. From the root of the repository:
//
//	go run -C bench ./report
//
// or, inside bench:
//
//	go run ./report
//
// It takes less than ten minutes. With -quick it takes one, and its figures are good
// for nothing but to see that it works. To run single benchmarks, as for benchstat or with
// -cpuprofile:
//
//	go test -run '^$' -bench 'Decide/from=prepared/case=accept-uri/engine=flowgate' -benchmem
//
// No test measures time: tests check equality and allocations.
//
// This is a module of its own so that nothing that flowgate is compared with becomes
// one of its dependencies.
package bench
