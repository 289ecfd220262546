package gate

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario/hclfile"
	"github.com/pronybench/prony/harness/stat"
)

// readForeignCPU reads foreign_cpu_percent_max, or returns 0 if the block does not have it.
func readForeignCPU(b *hclfile.Block) float64 {
	const name = "foreign_cpu_percent_max"
	percent, _ := b.Number(name, hclfile.NumberSpec{Example: "10"})
	if percent > 100 {
		b.AttrProblem(name, fmt.Sprintf("%s is %v, and processes have 100 %% of the CPUs at most", name, percent), "use more than 0 and at most 100, or remove it")
	}
	return percent
}

// disturbed returns a sentence if other processes used more CPU time in the timed rounds of r than the limit allows, and "" otherwise. If the host
// did not report the CPU time of other processes, disturbed returns "", and the limit is judged.
func (l Limit) disturbed(r *result.Result) string {
	if l.ForeignCPUPercentMax == 0 {
		return ""
	}
	var used []float64
	for i := range r.Rounds {
		if round := &r.Rounds[i]; round.Timed() && round.Signals != nil && round.Signals.ForeignCPUPercent != nil {
			used = append(used, *round.Signals.ForeignCPUPercent)
		}
	}
	s, err := stat.Summarise(used)
	if err != nil || s.Center <= l.ForeignCPUPercentMax {
		return ""
	}
	return fmt.Sprintf("other processes used %s %% of the CPUs meanwhile, and the %s is for %s %% at most",
		render.Digits(s.Center, 3), l.Kind, render.Digits(l.ForeignCPUPercentMax, 3))
}
