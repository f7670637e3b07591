//go:build race

package flowerrors_test

const raceEnabled = true
