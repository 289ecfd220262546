package profile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/pronybench/prony/harness/result"
)

const (
	// ownPrefix is the prefix of the names of the project's functions, except functions of its main
	// packages. These have the prefix mainPrefix.
	ownPrefix  = "github.com/pronybench/prony/"
	mainPrefix = "main."

	chargesMax = 40
	callersMax = 4
)

// charges attributes the values of p at index to functions. It returns the functions, largest value
// first.
func charges(p *profile.Profile, index int) []result.Charge {
	type charge struct {
		result.Charge
		heaviest float64
	}
	all := map[string]*charge{}
	count := max(0, slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool {
		return t.Type == "samples" || t.Type == "alloc_objects"
	}))
	for _, s := range p.Sample {
		stack := frames(s)
		value := float64(s.Value[index])
		if len(stack) == 0 || value <= 0 {
			continue
		}
		function, callers := chargedTo(stack)
		c := all[function]
		if c == nil {
			c = &charge{Charge: result.Charge{Function: function}}
			all[function] = c
		}
		c.Value += value
		c.Samples += uint64(max(0, s.Value[count]))
		if value > c.heaviest {
			c.heaviest, c.Callers = value, callers
		}
	}
	out := make([]result.Charge, 0, len(all))
	for _, c := range all {
		out = append(out, c.Charge)
	}
	slices.SortFunc(out, func(a, b result.Charge) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Function, b.Function))
	})
	return out[:min(len(out), chargesMax)]
}

// chargedTo returns the function that a stack's value is attributed to, and the project's functions
// that called it. The innermost frame of the stack is the first.
func chargedTo(stack []string) (function string, callers []string) {
	for _, f := range stack {
		f = withoutTypeArguments(f)
		switch {
		case !strings.HasPrefix(f, ownPrefix) && !strings.HasPrefix(f, mainPrefix):
		case function == "":
			function = f
		case len(callers) < callersMax && f != function && !slices.Contains(callers, f):
			callers = append(callers, f)
		}
	}
	if function != "" {
		return function, callers
	}
	for _, f := range stack {
		if strings.HasPrefix(f, "runtime.gcBgMarkWorker") || strings.HasPrefix(f, "runtime.bgsweep") || strings.HasPrefix(f, "runtime.bgscavenge") {
			return result.ChargeGC, nil
		}
	}
	standard := ""
	for _, f := range stack {
		switch path := packageOf(f); {
		case waits(path):
		case !isStandard(path):
			return path, nil // a standard library function works for its caller
		case standard == "":
			standard = path
		}
	}
	return cmp.Or(standard, result.ChargeScheduling), nil
}

// isStandard reports whether a package belongs to the standard library. The import path of any
// other package starts with a domain.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// withoutTypeArguments removes the type arguments from a function's name, so that all instances of
// a generic function have the same name.
func withoutTypeArguments(function string) string {
	first, last := strings.IndexByte(function, '['), strings.LastIndexByte(function, ']')
	if first < 0 || last < first {
		return function
	}
	return function[:first] + function[last+1:]
}
