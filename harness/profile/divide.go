package profile

import (
	"errors"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Area is a part of the program, by the functions in a sample's stack.
type Area struct {
	Name string
	// Within lists prefixes of full function names. A sample is of the area if one of its functions has one of the prefixes.
	Within []string
	// Innermost looks at the innermost function of a sample alone.
	Innermost bool
}

// Areas divides the CPU time of a session that was stopped, in nanoseconds: each sample is of the first area that it fits, and those that
// fit none are under "". samples is how many samples there are. A session that recorded no CPU profile is an error.
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

// has reports whether a stack, innermost frame first, is of the area.
func (a Area) has(stack []string) bool {
	if a.Innermost {
		stack = stack[:min(1, len(stack))]
	}
	return slices.ContainsFunc(stack, func(function string) bool {
		return slices.ContainsFunc(a.Within, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
	})
}
