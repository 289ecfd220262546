package ci

import (
	"cmp"
	"fmt"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/report/terminal"
	"github.com/pronybench/prony/harness/result"
)

// Judgement is the result for one scenario, by its baseline or against a base.
type Judgement struct {
	Kind     string // "check" or "compare": the command that judged
	Scenario string
	Verdict  result.Verdict
	Cases    []Case
	// Reasons are the reasons for a verdict other than pass that no case contains.
	Reasons []string
	// Text is the complete judgement as plain text, as the command prints it.
	Text string
	// Neutral reports that the judgement is neither for nor against a change: no difference was
	// found, or the data could not show one.
	Neutral bool
}

// Outcome is the result for one metric.
type Outcome string

// The outcomes of a case. Unclear means that the run has too little data on the metric, Skipped
// that it was not judged.
const (
	OK      Outcome = "ok"
	Failed  Outcome = "failed"
	Unclear Outcome = "unclear"
	Skipped Outcome = "skipped"
)

// Case is the judgement of one metric.
type Case struct {
	Name     string
	Outcome  Outcome
	Sentence string
}

// OfCheck returns the judgement of a run by its baseline.
func OfCheck(r gate.Report) Judgement {
	j := Judgement{Kind: "check", Scenario: cmp.Or(r.Scenario, "unknown"), Verdict: r.Verdict, Text: terminal.Check(r), Neutral: r.Verdict == result.Pass}
	said := map[string]bool{}
	for _, f := range r.Findings {
		c := Case{Name: fmt.Sprintf("%s %s", f.Metric, f.Kind), Outcome: Failed, Sentence: f.Sentence}
		for _, of := range []string{f.Workload, f.Point} {
			if of != "" {
				c.Name = of + ": " + c.Name
			}
		}
		switch {
		case !f.Judged:
			c.Outcome = Skipped
		case f.OK:
			c.Outcome = OK
		case f.Inconclusive:
			c.Outcome = Unclear
		}
		j.Cases = append(j.Cases, c)
		said[f.Sentence] = true
	}
	j.Reasons = others(r.Reasons, said)
	return j
}

// OfComparison returns the judgement of a change against its base.
func OfComparison(c *result.Comparison) Judgement {
	j := Judgement{Kind: "compare", Scenario: cmp.Or(c.Scenario, "unknown"), Verdict: c.Verdict, Text: report.ComparisonText(c)}
	j.Neutral = c.Verdict == result.Pass || c.Verdict == result.Inconclusive || c.Verdict == result.Invalid
	said := map[string]bool{}
	for _, d := range c.Metrics {
		one := Case{Name: d.Metric, Outcome: OK, Sentence: d.Because}
		switch d.Outcome {
		case result.Worsened:
			one.Outcome = Failed
		case result.Unclear:
			one.Outcome = Unclear
		case result.Improved:
			j.Neutral = j.Neutral && c.Verdict != result.Pass
		}
		j.Cases = append(j.Cases, one)
		said[d.Because] = true
	}
	j.Reasons = others(c.Reasons, said)
	return j
}

// others returns the reasons that no case contains.
func others(reasons []string, said map[string]bool) (rest []string) {
	for _, r := range reasons {
		if !said[r] {
			rest = append(rest, r)
		}
	}
	return rest
}
