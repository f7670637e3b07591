//go:build race

package middleware

// manyRequests is fewer under the race detector, which makes each slow.
const manyRequests = 1_000
