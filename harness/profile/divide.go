package profile

import (
	"errors"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Area is a part of a program. The functions in a sample's stack determine whether the sample
// belongs to the area.
type Area struct {
	Name string
	// Within contains prefixes of full function names. A sample belongs to the area if the name of
	// one of its functions starts with one of them.
	Within []string
	// Innermost restricts the test to the innermost function of a sample.
	Innermost bool
}

// Areas divides the CPU time of a stopped session among areas, in nanoseconds. Each sample belongs
// to the first area that matches, or to the area "" if no area matches. samples is the number of
// samples. Areas returns an error if the session has no CPU profile.
func (s *Session) Areas(areas []Area) (ns map[string]float64, samples int, err error) {
	p := s.profiles["cpu"]
	if p == nil {
		return nil, 0, errors.New("divide the CPU time: the session has no CPU profile")
	}
	return divide(p, areas)
}

func divide(p *profile.Profile, areas []Area) (ns map[string]float64, samples int, err error) {
	value, err := valueIndex(p, "cpu")
	if err != nil {
		return nil, 0, err
	}
	count, err := valueIndex(p, "samples")
	if err != nil {
		return nil, 0, err
	}
	ns = make(map[string]float64, len(areas))
	for _, sample := range p.Sample {
		name := ""
		stack := frames(sample)
		if at := slices.IndexFunc(areas, func(a Area) bool { return a.has(stack) }); at >= 0 {
			name = areas[at].Name
		}
		ns[name] += float64(sample.Value[value])
		samples += int(sample.Value[count])
	}
	return ns, samples, nil
}

func (a Area) has(stack []string) bool {
	if a.Innermost {
		stack = stack[:min(1, len(stack))]
	}
	return slices.ContainsFunc(stack, func(function string) bool {
		return slices.ContainsFunc(a.Within, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
	})
}
