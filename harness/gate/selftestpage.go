package gate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// Markdown renders the page of a self-test. The same self-test always has the same page.
func (t *SelfTest) Markdown() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# How far the gate can be trusted")
	line("")
	line("`prony gate selftest` has the gate judge comparisons whose answer is known: of identical builds, where each `regressed` is a false")
	line("alarm, and of a server that was slowed down on purpose, where each other verdict is a miss. All arms were measured beside each other,")
	line("in blocks of one round each, every round on a server started afresh; a comparison is judged from the blocks that fit into %.0f s of", t.Within)
	line("measuring: %d blocks of three rounds, %.1f s each.", t.PerTest, t.BlockSeconds)
	line("")
	line("Scenario `%s`, durability `%s`; %d blocks, from %s to %s UTC.", t.Scenario, t.Durability, t.Blocks, t.Started, t.Finished)
	line("")
	line("## Verdicts")
	line("")
	line("Disjoint comparisons share no block: their number is small, and the interval (Wilson, 95 %%) is that of independent trials. Those that")
	line("are drawn take their blocks at random from the whole bank, with each identical arm as the base, the control and the change in")
	line("turn: they share blocks, so that their share is steadier than the disjoint ones' and has no interval.")
	line("")
	line("| change | comparisons | of | `regressed` | share | interval | `pass` | `inconclusive` |")
	line("|---|---|---:|---:|---:|---:|---:|---:|")
	for _, trial := range t.Trials {
		kind, interval := "drawn", "-"
		if trial.Disjoint {
			kind, interval = "disjoint", fmt.Sprintf("%s to %s", share(trial.Low), share(trial.High))
		}
		line("| %s | %s | %d | %d | %s | %s | %d | %d |", trial.Arm, kind, trial.Comparisons, trial.Regressed, share(trial.Share()),
			interval, trial.Verdicts[result.Pass], trial.Verdicts[result.Inconclusive])
	}
	line("")
	line("In how many of the drawn comparisons each metric was `regressed`:")
	line("")
	t.byMetric(line)
	line("")
	line("## How slow the slowed servers were")
	line("")
	line("Measured over all %d blocks, beside the three identical arms.", t.Blocks)
	line("")
	line("| arm | planted | loss of rate wanted | rate | 95 %% interval | CPU per cycle | 95 %% interval |")
	line("|---|---|---:|---:|---:|---:|---:|")
	for _, truth := range t.Truths {
		line("| %s | `%s` | %s | %s | %s to %s | %s | %s to %s |", truth.Arm, truth.Planted, share(truth.LossWant),
			render.Change(truth.Rate.Ratio), render.Change(truth.Rate.Low), render.Change(truth.Rate.High),
			render.Change(truth.CPU.Ratio), render.Change(truth.CPU.Low), render.Change(truth.CPU.High))
	}
	line("")
	line("## Counters")
	line("")
	line("Of %d blocks each, with identical arms: as they are, and with the change's figures multiplied by %.2f.", counterRoundsMin, 1+counterShift)
	line("")
	line("| counter | comparisons | `regressed` | share | interval |")
	line("|---|---:|---:|---:|---:|")
	for _, trial := range t.Counters {
		line("| %s | %d | %d | %s | %s to %s |", trial.Arm, trial.Comparisons, trial.Regressed, share(trial.Share()), share(trial.Low), share(trial.High))
	}
	line("")
	line("## What pairing is worth")
	line("")
	line("The standard deviation of one identical arm's rounds over the whole bank, and that of the ratio of two of them within a block,")
	line("which is 1.4 times it where pairing is worth nothing.")
	line("")
	line("| metric | rounds | ratios within blocks |")
	line("|---|---:|---:|")
	for _, s := range t.Spreads {
		line("| %s | %s | %s |", s.Metric, fine(s.Rounds), fine(s.Pairs))
	}
	line("")
	line("## Provenance")
	line("")
	m := t.Manifest
	dirty := ""
	if m.Build.Dirty {
		dirty = " with changes"
	}
	line("`%s`; commit %s%s, server SHA-256 %s, %s; %s, %d CPUs, kernel %s, %s.", strings.Join(m.Command, " "), m.Build.Commit, dirty, m.Build.Server,
		m.Build.GoVersion, m.Host.CPUModel, m.Host.CPUs, m.Host.Kernel, m.Host.Filesystem)
	line("Alpha is %.2g for each comparison.", t.Alpha)
	line("")
	line("## What this does not measure")
	line("")
	line("One host, one scenario, and one way to be slow: computing for each task. Losses by waiting, and hosts that are noisier than this")
	line("one was in these hours, are not in it. The identical arms are one binary: what the layout of two builds of the same source may differ by is not there.")
	return b.String()
}

// byMetric is a table of the drawn trials, or of the disjoint ones where none were drawn.
func (t *SelfTest) byMetric(line func(string, ...any)) {
	trials := slices.DeleteFunc(slices.Clone(t.Trials), func(trial Trial) bool { return trial.Disjoint })
	if len(trials) == 0 {
		trials = t.Trials
	}
	metrics := map[string]bool{}
	head, rule := "| metric |", "|---|"
	for _, trial := range trials {
		head += fmt.Sprintf(" %s |", trial.Arm)
		rule += "---:|"
		for metric := range trial.ByMetric {
			metrics[metric] = true
		}
	}
	line("%s", head)
	line("%s", rule)
	for _, metric := range slices.Sorted(maps.Keys(metrics)) {
		row := fmt.Sprintf("| %s |", metric)
		for _, trial := range trials {
			row += fmt.Sprintf(" %d of %d |", trial.ByMetric[metric], trial.Comparisons)
		}
		line("%s", row)
	}
}

// share writes a part of 1 in percent.
func share(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return render.Percent(v)
}

func fine(v float64) string { return fmt.Sprintf("%.2f %%", 100*v) }
