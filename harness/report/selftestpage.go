package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// SelfTestPage writes the page of a self-test. The same self-test always has the same page.
func SelfTestPage(t *gate.SelfTest) string {
	p := &page{}
	p.heading(1, "How far the gate can be trusted")
	p.paragraph("`prony gate selftest` has the gate judge comparisons whose answer is known: of identical builds, where each `regressed` is a"+
		" false alarm, and of a server that was slowed down on purpose, where each other verdict is a miss. All arms were measured beside"+
		" each other, in blocks of one round each, every round on a server started afresh; a comparison is judged from the blocks that fit"+
		" into %.0f s of measuring: %d blocks of three rounds, %.1f s each.", t.Within, t.PerTest, t.BlockSeconds)
	p.paragraph("Scenario %s, durability %s; %d blocks, from %s to %s UTC.", code(t.Scenario), code(t.Durability), t.Blocks, t.Started, t.Finished)
	p.heading(2, "Verdicts")
	p.paragraph("Disjoint comparisons share no block: their number is small, and the interval (Wilson, 95 %%) is that of independent trials." +
		" Those that are drawn take their blocks at random from the whole bank, with each identical arm as the base, the control and the" +
		" change in turn: they share blocks, so that their share is steadier than the disjoint ones' and has no interval.")
	p.table([]string{"change", "comparisons", ">of", ">`regressed`", ">share", ">interval", ">`pass`", ">`inconclusive`"}, trialRows(t.Trials))
	p.paragraph("In how many of the drawn comparisons each metric was `regressed`:")
	regressedByMetric(p, t.Trials)
	p.heading(2, "How slow the slowed servers were")
	p.paragraph("Measured over all %d blocks, beside the three identical arms.", t.Blocks)
	p.table([]string{"arm", "planted", ">loss of rate wanted", ">rate", ">95 % interval", ">CPU per cycle", ">95 % interval"}, truthRows(t.Truths))
	p.heading(2, "Counters")
	p.paragraph("Of %d blocks each, with identical arms: as they are, and with the change's figures multiplied by %.2f.", gate.CounterRoundsMin, 1+gate.CounterShift)
	p.table([]string{"counter", ">comparisons", ">`regressed`", ">share", ">interval"}, counterRows(t.Counters))
	p.heading(2, "What pairing is worth")
	p.paragraph("The standard deviation of one identical arm's rounds over the whole bank, and that of the ratio of two of them within a block," +
		" which is 1.4 times it where pairing is worth nothing.")
	var spreads [][]string
	for _, s := range t.Spreads {
		spreads = append(spreads, []string{s.Metric, render.PercentTo(s.Rounds, 2), render.PercentTo(s.Pairs, 2)})
	}
	p.table([]string{"metric", ">rounds", ">ratios within blocks"}, spreads)
	p.heading(2, "Provenance")
	m := t.Manifest
	p.paragraph("%s; commit %s, server SHA-256 %s, %s; %s, kernel %s, %s. Alpha is %.2g for each comparison.", code(strings.Join(m.Command, " ")),
		m.Build.Revision(), m.Build.Server, m.Build.GoVersion, machine(m.Host), m.Host.Kernel, m.Host.Filesystem, t.Alpha)
	p.heading(2, "What this does not measure")
	p.paragraph("One host, one scenario, and one way to be slow: computing for each task. Losses by waiting, and hosts that are noisier than this" +
		" one was in these hours, are not in it. The identical arms are one binary: what the layout of two builds of the same source may" +
		" differ by is not there.")
	return p.String()
}

func trialRows(trials []gate.Trial) (rows [][]string) {
	for _, t := range trials {
		kind, interval := "drawn", "-"
		if t.Disjoint {
			kind, interval = "disjoint", wilson(t)
		}
		rows = append(rows, []string{
			t.Arm, kind, fmt.Sprint(t.Comparisons), fmt.Sprint(t.Regressed), regressedShare(t), interval,
			fmt.Sprint(t.Verdicts[result.Pass]), fmt.Sprint(t.Verdicts[result.Inconclusive]),
		})
	}
	return rows
}

func truthRows(truths []gate.Truth) (rows [][]string) {
	for _, t := range truths {
		row := []string{t.Arm, code(t.Planted), render.Percent(t.LossWant)}
		for _, r := range []gate.Ratio{t.Rate, t.CPU} {
			row = append(row, render.Change(r.Ratio), render.Change(r.Low)+" to "+render.Change(r.High))
		}
		rows = append(rows, row)
	}
	return rows
}

func counterRows(counters []gate.Trial) (rows [][]string) {
	for _, t := range counters {
		rows = append(rows, []string{t.Arm, fmt.Sprint(t.Comparisons), fmt.Sprint(t.Regressed), regressedShare(t), wilson(t)})
	}
	return rows
}

// regressedByMetric writes a table of the drawn trials, or of the disjoint ones where none were drawn.
func regressedByMetric(p *page, all []gate.Trial) {
	trials := slices.DeleteFunc(slices.Clone(all), func(t gate.Trial) bool { return t.Disjoint })
	if len(trials) == 0 {
		trials = all
	}
	metrics := map[string]bool{}
	header := []string{"metric"}
	for _, t := range trials {
		header = append(header, ">"+t.Arm)
		for metric := range t.ByMetric {
			metrics[metric] = true
		}
	}
	var rows [][]string
	for _, metric := range slices.Sorted(maps.Keys(metrics)) {
		row := []string{metric}
		for _, t := range trials {
			row = append(row, fmt.Sprintf("%d of %d", t.ByMetric[metric], t.Comparisons))
		}
		rows = append(rows, row)
	}
	p.table(header, rows)
}

// wilson writes the interval of the share of a trial's comparisons that were regressed.
func wilson(t gate.Trial) string { return render.Percent(t.Low) + " to " + render.Percent(t.High) }

func regressedShare(t gate.Trial) string {
	if math.IsNaN(t.Share()) {
		return "-"
	}
	return render.Percent(t.Share())
}
