// Package decisiontest tests implementations of [decision.Sink]: what a gate relies on, and
// what a gate may hand to a sink that a sink of one's own is easily not ready for.
//
//	func TestSink(t *testing.T) {
//		decisiontest.Run(t, func(t *testing.T) (decision.Sink, decisiontest.Stored) {
//			var store Store
//			return &store, store.Lines
//		})
//	}
//
// Run it with the race detector, which sees what no result shows. A sink that never returns
// is only found by the time limit of go test.
package decisiontest
