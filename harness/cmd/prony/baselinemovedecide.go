package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/baselinebuild"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// decideMove judges a move by its comparisons. The returned Build has their ratios. It keeps
// AcceptCreep only if a product fell below its limit.
func decideMove(file *baselinebuild.File, build baselinebuild.Build, compared []*result.Comparison) moved {
	d := moved{Verdict: result.Pass, From: file.Current().Commit, Build: build}
	trusted := true
	for _, c := range compared {
		switch c.Verdict {
		case result.Pass:
		case result.Regressed:
			d.refuseUnnamed(c)
		default:
			trusted = false
			d.refuse(c.Verdict, "%s is %s, so its ratios cannot be recorded: %s", c.Scenario, c.Verdict, strings.Join(c.Reasons, "; "))
			continue
		}
		ratios, err := ratiosOf(c)
		if err != nil {
			trusted = false
			d.refuse(result.Invalid, "%v", err)
		}
		d.Build.Ratios = append(d.Build.Ratios, ratios...)
	}
	if trusted {
		d.judgeCreep(file)
	}
	d.Products = append([]baselinebuild.Product{}, file.With(d.Build).Products()...)
	return d
}

func (d *moved) refuse(v result.Verdict, format string, args ...any) {
	d.Verdict = result.Worst(d.Verdict, v)
	d.Refused = append(d.Refused, fmt.Sprintf(format, args...))
}

// refuseUnnamed refuses a regression unless the reason names each metric that got worse. A
// regression without such a metric has another cause, such as failed generations of the change, and
// is always refused.
func (d *moved) refuseUnnamed(c *result.Comparison) {
	var lost, unnamed []string
	for _, m := range c.Metrics {
		if m.Outcome != result.Worsened {
			continue
		}
		lost = append(lost, m.Metric)
		if !names(d.Build.Because, m.Metric) {
			unnamed = append(unnamed, fmt.Sprintf("%s (%s)", m.Metric, lossText(m)))
		}
	}
	switch {
	case len(lost) == 0:
		d.refuse(result.Regressed, "%s regressed, but no metric did: %s", c.Scenario, strings.Join(c.Reasons, "; "))
	case len(unnamed) > 0:
		d.refuse(result.Regressed, "%s regressed, and --because does not name %s: undo the loss, or name each with the reason to accept it", c.Scenario, strings.Join(unnamed, ", "))
	}
}

// names reports whether text contains name as a whole word.
func names(text, name string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return slices.Contains(words, name)
}

// lossText formats the change of a metric in percent.
func lossText(m result.MetricDelta) string {
	if m.Base.Median == 0 {
		return "from 0"
	}
	return render.Change(m.Ratio)
}

// ratiosOf returns the ratios of a comparison to record: those of the primaries, and those of the
// counters that differ. A counter that is 0 on one side has no ratio.
func ratiosOf(c *result.Comparison) (all []baselinebuild.Ratio, err error) {
	add := func(m result.MetricDelta) {
		all = append(all, baselinebuild.Ratio{Scenario: c.Scenario, Metric: m.Metric, Value: baselinebuild.Round(m.Ratio)})
	}
	for _, m := range c.Metrics {
		switch {
		case m.Loss != nil && !baselinebuild.InRange(m.Ratio):
			return nil, fmt.Errorf("%s has no ratio of %s: it is %v", c.Scenario, m.Metric, m.Ratio)
		case m.Loss != nil, m.Outcome != result.Same && m.Base.Median > 0 && baselinebuild.InRange(m.Ratio):
			add(m)
		}
	}
	if !slices.ContainsFunc(c.Metrics, func(m result.MetricDelta) bool { return m.Loss != nil }) {
		return nil, fmt.Errorf("%s has no comparable figures", c.Scenario)
	}
	return all, nil
}

// judgeCreep refuses a move without AcceptCreep if a product falls below CreepShare of its best.
func (d *moved) judgeCreep(file *baselinebuild.File) {
	fallen := file.With(d.Build).Fallen()
	if len(fallen) == 0 {
		d.Build.AcceptCreep = ""
		return
	}
	if d.Build.AcceptCreep != "" {
		return
	}
	for _, p := range fallen {
		d.refuse(result.Regressed, "%s of %s falls to %s of its best, at %s, over %s: undo the losses, or say in --accept-creep why this is accepted",
			p.Metric, p.Scenario, render.Percent(p.Share), render.Commit(p.BestCommit), render.Plural(p.Moves, "move"))
	}
}
