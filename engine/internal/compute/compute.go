// Package compute does a known amount of work, for builds that slow down the engine deliberately.
package compute

// Steps does the given number of dependent steps, of one or two nanoseconds each. Unlike a
// duration, a number of steps is the same amount of work even if the host preempts the process.
func Steps(count int) uint64 {
	x := uint64(1)
	for range count {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
