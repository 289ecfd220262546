package profile

import (
	"errors"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Area is a part of the program, identified by the functions in a sample's stack.
type Area struct {
	Name string
	// Within lists prefixes of full function names. A sample belongs to the area if one of its
	// functions has one of the prefixes.
	Within []string
	// Innermost considers only the innermost function of a sample.
	Innermost bool
}

// Areas divides the CPU time of a stopped session among areas, in nanoseconds. Each sample belongs
// to the first area that matches, or to "" if none does. samples is the number of samples. It is an
// error if the session has no CPU profile.
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

// has reports whether a stack, innermost frame first, belongs to the area.
func (a Area) has(stack []string) bool {
	if a.Innermost {
		stack = stack[:min(1, len(stack))]
	}
	return slices.ContainsFunc(stack, func(function string) bool {
		return slices.ContainsFunc(a.Within, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
	})
}
