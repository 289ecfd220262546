package profile

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// dropOwn removes the samples of work that a process did only because it was profiled. Such samples
// have a frame of the runtime's profiler, or of the code in this package that profiles the
// harness's own process.
func dropOwn(p *profile.Profile) *profile.Profile {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.ContainsFunc(frames(s), func(function string) bool {
			return packageOf(function) == "runtime/pprof" || packageOf(function) == "net/http/pprof" ||
				strings.HasPrefix(function, ownPrefix+"harness/profile.(*Session).") || strings.HasPrefix(function, ownPrefix+"harness/profile.(*Self).")
		})
	})
	return p.Compact()
}
