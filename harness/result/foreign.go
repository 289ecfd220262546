package result

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
)

// ForeignProcess is the CPU use of all processes of one name that do not belong to the run.
type ForeignProcess struct {
	Name       string  `json:"name"`        // the kernel's name, without the command line
	CPUPercent float64 `json:"cpu_percent"` // of all CPUs' time
}

// MeanForeign returns the mean use of the foreign processes over several windows by name, in
// descending order.
func MeanForeign(windows []*Signals) (means []ForeignProcess) {
	sums := map[string]float64{}
	most := 0
	for _, s := range windows {
		if s == nil {
			continue
		}
		for _, p := range s.ForeignProcesses {
			sums[p.Name] += p.CPUPercent
		}
		most = max(most, len(s.ForeignProcesses))
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		means = append(means, ForeignProcess{Name: name, CPUPercent: sums[name] / float64(len(windows))})
	}
	slices.SortStableFunc(means, func(a, b ForeignProcess) int { return cmp.Compare(b.CPUPercent, a.CPUPercent) })
	return means[:min(most, len(means))]
}

// ForeignText formats foreign processes with their share of all CPUs' time: "go 41 %, chrome 7 %".
func ForeignText(processes []ForeignProcess) string {
	var all []string
	for _, p := range processes {
		all = append(all, p.Name+" "+render.Digits(p.CPUPercent, 2)+" %")
	}
	return strings.Join(all, ", ")
}
