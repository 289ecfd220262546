//go:build race

package run

// slowdown is by how much the race detector slows the tests' load down.
const slowdown = 4
