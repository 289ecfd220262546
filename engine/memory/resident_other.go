//go:build !linux

package memory

import "runtime/metrics"

// newResident returns a function that reads how many bytes of memory the Go runtime has obtained
// from the system. They do not include memory of C libraries.
func newResident() func() (int64, error) { return residentBytes }

func residentBytes() (int64, error) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64()), nil
}
