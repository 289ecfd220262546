package profile

import (
	"slices"

	"github.com/google/pprof/profile"
)

// dropOwn removes what the process did only to be profiled: the samples in whose stack the handlers
// of net/http/pprof appear. They pack the first snapshots inside the window, and the one that
// records the CPU profile blocks for all of the window, which would be a large share of the blocking
// of a server that is well.
func dropOwn(p *profile.Profile) *profile.Profile {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.ContainsFunc(frames(s), func(function string) bool {
			return packageOf(function) == "net/http/pprof"
		})
	})
	return p.Compact()
}
