package gate

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// CheckPiece is a group of runs of slowed servers that were measured together and are judged by
// baselines.
type CheckPiece struct {
	Folder string     `json:"-"` // for errors
	Runs   []CheckRun `json:"runs"`
}

// CheckRun is the run of one server. The server in the first run of a piece is not slowed.
type CheckRun struct {
	Loss    float64        `json:"loss"` // intended loss of the rate, as a fraction
	Planted string         `json:"planted,omitempty"`
	Result  *result.Result `json:"result"`
}

// SelfTestCheck contains Check's verdicts on servers with one intended loss of the rate.
type SelfTestCheck struct {
	Scenario string  `json:"scenario"`
	Loss     float64 `json:"loss"` // intended
	// Measured is the median loss over the runs, relative to the server that is not slowed.
	Measured float64  `json:"measured"`
	Planted  []string `json:"planted,omitempty"`
	Runs     int      `json:"runs"`
	Called   int      `json:"called"` // runs whose verdict was not pass
	// Broken lists the metrics with a broken limit in any of the runs.
	Broken []string `json:"broken,omitempty"`
}

func judgeChecks(pieces []CheckPiece, baselines *Baselines) ([]SelfTestCheck, error) {
	var all []SelfTestCheck
	measured := map[float64][]float64{}
	for _, p := range pieces {
		if len(p.Runs) == 0 || p.Runs[0].Loss != 0 {
			return nil, fmt.Errorf("%s: its first run must be of a server without a planted loss: move it out of the bank", p.Folder)
		}
		base := p.Runs[0].Result.Metrics[result.CyclesPerS].Median
		for _, run := range p.Runs {
			at := slices.IndexFunc(all, func(c SelfTestCheck) bool { return c.Loss == run.Loss })
			if at < 0 {
				at = len(all)
				all = append(all, SelfTestCheck{Scenario: run.Result.Scenario, Loss: run.Loss})
			}
			c := &all[at]
			c.Runs++
			measured[run.Loss] = append(measured[run.Loss], 1-run.Result.Metrics[result.CyclesPerS].Median/base)
			if run.Planted != "" && !slices.Contains(c.Planted, run.Planted) {
				c.Planted = append(c.Planted, run.Planted)
			}
			if _, found := baselines.For(run.Result.Scenario); !found && len(run.Result.Manifest.Scenario.Limits) == 0 {
				return nil, fmt.Errorf("%s: scenario %q has neither a baseline%s nor limits in its file: add one", p.Folder, run.Result.Scenario, baselines.place())
			}
			judged := Check(baselines, run.Result)
			if judged.Verdict == result.Misconfigured {
				return nil, fmt.Errorf("%s: %v", p.Folder, judged.Reasons)
			}
			if judged.Verdict != result.Pass {
				c.Called++
			}
			for _, f := range judged.Findings {
				if !f.OK && f.Judged && !slices.Contains(c.Broken, f.Metric) {
					c.Broken = append(c.Broken, f.Metric)
				}
			}
		}
	}
	for i := range all {
		s, err := stat.Summarise(measured[all[i].Loss])
		if err != nil {
			return nil, fmt.Errorf("the rate of servers that lose %.0f %%: %w", 100*all[i].Loss, err)
		}
		all[i].Measured = s.Center
		slices.Sort(all[i].Broken)
	}
	slices.SortFunc(all, func(a, b SelfTestCheck) int {
		switch {
		case a.Loss < b.Loss:
			return -1
		case a.Loss > b.Loss:
			return 1
		}
		return 0
	})
	return all, nil
}

// CheckCallsFrom returns the smallest loss such that Check passed no run with that loss or a larger
// one. ok is false if Check passed a run with the largest loss.
func CheckCallsFrom(checks []SelfTestCheck) (loss float64, ok bool) {
	for _, c := range slices.Backward(checks) {
		if c.Called < c.Runs {
			break
		}
		loss, ok = c.Loss, true
	}
	return loss, ok
}
