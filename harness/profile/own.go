package profile

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// dropOwn removes the work that a process did only to be profiled: the samples with a frame of the
// runtime's profiler or of the code in this package that profiles the harness's process.
func dropOwn(p *profile.Profile) *profile.Profile {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.ContainsFunc(frames(s), func(function string) bool {
			return packageOf(function) == "runtime/pprof" || packageOf(function) == "net/http/pprof" ||
				strings.HasPrefix(function, ownPrefix+"harness/profile.(*Session).") || strings.HasPrefix(function, ownPrefix+"harness/profile.(*Self).")
		})
	})
	return p.Compact()
}
