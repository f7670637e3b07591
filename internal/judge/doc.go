// Package judge is what probing a server and testing its conformance have in common: it
// makes up contributors that a policy accepts or refuses, and says what an answer amounts
// to. It decides nothing about the server.
package judge
