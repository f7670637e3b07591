//go:build !race

package middleware

// manyRequests is how many requests a test of what is left behind sends.
const manyRequests = 10_000
