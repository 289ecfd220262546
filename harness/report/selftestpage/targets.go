package selftestpage

import (
	"fmt"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// claimAlpha is the probability that a claimed bound is wrong.
const claimAlpha = 0.05

// target is a figure that the gate must reach.
type target struct {
	of    string // name of the figure
	wants string
	kinds []string // kinds whose trials are counted together
	looks int      // 1, or 0 for all
	// passed counts trials that passed, instead of detected ones.
	passed bool
	// timings counts only trials in which a timing regressed, so that a false alarm of a counter
	// does not count as a found loss.
	timings bool
	checked bool // only pieces with a record of the mapping of program code
	atMost  bool // upper bound
}

// targets returns the figures that the gate must reach.
func targets() []target {
	same := []string{"identical", "layout"}
	all := []target{
		{of: "false red, same source, in one look", wants: "≤ 1 of 200", kinds: same, looks: 1, atMost: true},
		{of: "false red, same source", wants: "≤ 1 of 200", kinds: same, atMost: true},
		{of: "false red, same source, in one look, checked pieces", wants: "≤ 1 of 200", kinds: same, looks: 1, checked: true, atMost: true},
		{of: "same source that ends `pass`", wants: "≥ 90 of 100", kinds: same, passed: true},
		{of: "same source that ends `pass` in one look", wants: "-", kinds: same, passed: true, looks: 1},
		{of: "10 % loss called in one look", wants: "100 of 100", kinds: []string{"cpu-10"}, timings: true, looks: 1},
	}
	for _, k := range gate.SelfTestKinds() {
		if k.Loss == 0.05 {
			all = append(all, target{of: "5 % loss called in one look, " + k.Name, wants: "≥ 97 of 100", kinds: []string{k.Name}, timings: true, looks: 1})
		}
	}
	return append(all,
		target{of: "3 % loss called in one look", wants: "≥ 50 of 100", kinds: []string{"cpu-3"}, timings: true, looks: 1},
		target{of: "3 % loss called in all looks", wants: "≥ 95 of 100", kinds: []string{"cpu-3"}, timings: true},
	)
}

// targetsSection shows the targets of the gate and their measured values.
func targetsSection(p *doc.Document, t *gate.SelfTest) {
	p.Heading(2, "What the gate calls")
	p.Paragraph("Independent trials, and the bound of their share that these numbers allow with %.0f %% confidence (Clopper and Pearson): the page claims no"+
		" more. There are %d trials of builds of the same source so far, and %d of changes with a loss.",
		100*(1-claimAlpha), countTrials(t, true), countTrials(t, false))
	var rows [][]string
	for _, g := range targets() {
		hits, n := g.count(t, true)
		drawnHits, drawn := g.count(t, false)
		row := []string{g.of, g.wants, "-", "-", "-"}
		if n > 0 {
			row[2] = fmt.Sprintf("%d of %d", hits, n)
			if g.atMost {
				row[3] = "at most " + render.Percent(stat.ShareAtMost(hits, n, claimAlpha))
			} else {
				row[3] = "at least " + render.Percent(stat.ShareAtLeast(hits, n, claimAlpha))
			}
		}
		if drawn > 0 {
			row[4] = fmt.Sprintf("%d of %d", drawnHits, drawn)
		}
		rows = append(rows, row)
	}
	rows = append(rows, counterTargets(t)...)
	p.Table([]string{"figure", ">to reach", ">independent trials", ">bound", ">drawn trials"}, rows)
	p.Paragraph("Checked pieces have a record of how the kernel mapped the program code of both sides in each generation. The same program takes more CPU time" +
		" in small pages than in large ones. In these pieces a generation with different shares of large pages did not count, or all processes had" +
		" to use small pages only. Older pieces do not have this record, and count in all other rows.")
}

// countTrials returns the number of independent trials of one look.
func countTrials(t *gate.SelfTest, same bool) (n int) {
	for _, k := range t.Kinds {
		if trial, ok := k.Trial(1, true); ok && k.Same() == same {
			n += trial.Trials
		}
	}
	return n
}

// count returns the number of the target's trials that are hits.
func (g target) count(t *gate.SelfTest, disjoint bool) (hits, n int) {
	looks := g.looks
	if looks == 0 {
		looks = t.Looks
	}
	for _, k := range t.Kinds {
		for _, name := range g.kinds {
			trial, ok := k.Trial(looks, disjoint)
			if g.checked {
				trial, ok = k.CheckedTrial(looks)
				ok = ok && disjoint // only disjoint trials are checked
			}
			if !ok || k.Name != name {
				continue
			}
			n += trial.Trials
			switch {
			case g.passed:
				hits += trial.Verdicts[result.Pass]
			case g.timings:
				hits += trial.Timings
			default:
				hits += trial.Red()
			}
		}
	}
	return hits, n
}

// counterTargets returns the rows of the counters, with the worst counter.
func counterTargets(t *gate.SelfTest) [][]string {
	if len(t.Counters) == 0 {
		return nil
	}
	least, most := gate.SelfTestCounter{CalledLeast: 1}, t.Counters[0]
	for _, c := range t.Counters {
		if c.CalledLeast < least.CalledLeast {
			least = c
		}
		if c.FalseMost > most.FalseMost {
			most = c
		}
	}
	return [][]string{
		{
			"+1 % in a counter from fixed work, the one called least", "100 of 100", fmt.Sprintf("%d of %d", least.Called, least.Pairs),
			"at least " + render.Percent(least.CalledLeast), "-",
		},
		{
			"false alarm of a counter, the one with most", "0 of 300", fmt.Sprintf("%d of %d", most.False, most.Pairs),
			"at most " + render.Percent(most.FalseMost), "-",
		},
	}
}
