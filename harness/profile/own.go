package profile

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// dropOwn removes what a process did only to be profiled: the samples in whose stack the runtime's profiler, or the part of this
// package that takes the profiles of the harness's own process, appears.
func dropOwn(p *profile.Profile) *profile.Profile {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.ContainsFunc(frames(s), func(function string) bool {
			return packageOf(function) == "runtime/pprof" || packageOf(function) == "net/http/pprof" ||
				strings.HasPrefix(function, ownPrefix+"harness/profile.(*Session).") || strings.HasPrefix(function, ownPrefix+"harness/profile.(*Self).")
		})
	})
	return p.Compact()
}
