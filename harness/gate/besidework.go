package gate

import (
	"strings"

	"github.com/pronybench/prony/harness/result"
)

// judgeWork judges the counters of fixed work as JudgeDuet does. A counter that rose breaks an
// implied limit unless the rise is declared; a counter that fell does not.
func judgeWork(beside *Beside) (findings []Finding, warnings []string) {
	if beside == nil || beside.Work == nil {
		return nil, nil
	}
	j := &duetJudgement{c: &result.Comparison{Verdict: result.Pass, Duet: &result.DuetJudgement{}}}
	j.work(beside.Work)
	for _, d := range j.c.Metrics {
		value := d.Change.Median
		f := Finding{
			Metric: d.Metric, Kind: Ceiling, Limit: d.Base.Median, Value: &value, Judged: true, OK: d.Outcome != result.Worsened, ofWork: true,
			OfBaseline: &result.BaselineRatio{Commit: beside.Commit, Base: d.Base.Median, Ratio: d.Ratio, Low: d.Ratio, High: d.Ratio, Pairs: 1},
			Because:    "fixed work takes the same operations in each run of a build", Sentence: d.Metric + " " + d.Because,
		}
		findings = append(findings, f)
	}
	if len(j.c.Reasons) > 0 { // the work itself failed
		findings = append(findings, Finding{
			Metric: "fixed_work", Kind: Ceiling, Judged: true, ofWork: true, unmeasured: true, Sentence: strings.Join(j.c.Reasons, "; "),
			Because: "counters are compared by fixed work",
		})
	}
	return findings, j.c.Warnings
}
