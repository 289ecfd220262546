// Package compute is work of a known amount, for builds that make the engine slower on purpose.
package compute

// Steps does a number of steps that depend on each other: a nanosecond or two each. Unlike a time, their number is the same amount of
// work however often the host takes the processor away.
func Steps(count int) uint64 {
	x := uint64(1)
	for range count {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
