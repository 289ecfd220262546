// Package compute performs a known amount of computation. Builds that deliberately slow down the
// engine use it.
package compute

// Steps computes the given number of steps. Each step depends on the previous one and takes one or
// two nanoseconds. A number of steps, in contrast to a duration, is the same amount of work even if
// the host preempts the process.
func Steps(count int) uint64 {
	x := uint64(1)
	for range count {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
