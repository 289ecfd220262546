//go:build !race

package run

const slowdown = 1
