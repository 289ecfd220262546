// Package faults shows the injected faults of a run and their effect on the load.
package faults

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// faultRowsMax is the maximum number of faults that a page lists.
const faultRowsMax = 100

// Section shows the injected faults and their effect on the load.
func Section(p *doc.Document, r *result.Result) {
	var rounds, rows [][]string
	var recoveries []string
	left, share := 0, 0.0
	for _, round := range r.Rounds {
		f := round.Faults
		if f == nil {
			continue
		}
		share = f.RecoveredShare
		rounds = append(rounds, []string{
			runs.RoundName(r, round), render.Number(f.BaselinePerS), render.Number(f.BaselineDipPercent), fmt.Sprint(len(f.Events)),
			runs.Cell(round, result.FaultFirstAckMsMedian), runs.Cell(round, result.FaultFirstAckMsMax),
			runs.Cell(round, result.FaultRecoveryMsMedian), runs.Cell(round, result.FaultRecoveryMsMax), runs.Cell(round, result.FaultsNotRecovered),
			runs.Cell(round, result.FaultsBackSoon), runs.Cell(round, result.FaultDipPercent), runs.Cell(round, result.FaultLevelRatio), runs.Cell(round, result.FaultLastToFirstRatio),
			render.Count(f.FailedCalls), render.Count(f.RefusedCompletions), render.Count(round.Ledger.Unknown), render.Count(round.Ledger.InDoubt),
		})
		if len(f.Events) > 0 {
			recoveries = append(recoveries, recoverySentences(runs.RoundName(r, round), f))
		}
		for _, e := range f.Events {
			if len(rows) == faultRowsMax {
				left++
				continue
			}
			rows = append(rows, faultRow(runs.RoundName(r, round), e))
		}
	}
	if len(rounds) == 0 {
		return
	}
	p.Heading(2, "Faults, durability %s", doc.Code(r.Manifest.Durability()))
	p.Paragraph("The harness injected faults into the cluster under load. The baseline is the rate before the first fault of a window. Its own dip is how"+
		" far its worst tenth of a second fell below it: a fault's dip that is no deeper shows no effect."+
		" An outage is the longest gap of at least a tenth of a second without a completed cycle that begins within a second of the fault."+
		" The time of the first cycle is that from the fault to the first cycle after the outage, and 0 without an outage."+
		" If there was no cycle before the next fault or the window's end, the times of the first cycle omit that fault. The load has recovered"+
		" from a fault when half a second has %s %% of the rate before the fault, which its row shows. A fault without a recovery before the next"+
		" fault or the window's end counts as not recovered, and the times of recovery omit it. The level is the rate after the last third of the"+
		" faults, relative to the baseline; below %s the round is regressed."+
		" After a fault the load is back in 1 s if half a second that begins within a second of it has 95 %% of the rate before it."+
		" Last to first is the level after the last tenth of the faults to that after the first tenth."+
		" Failed calls are those that the client gave up: the outcome of their tasks is unknown, or in doubt if they"+
		" were completions. Refused completions belong to leases that had ended.",
		render.Number(100*share), render.Number(result.LevelLeast))
	p.Paragraph("%s", strings.Join(recoveries, " "))
	if runs.EndsProcesses(r) {
		p.Paragraph("A fault that ends a server's process also deletes its counters. Totals of the servers' counters over the" +
			" window, and figures per cycle derived from them, are therefore omitted.")
	}
	p.Table([]string{
		">round", ">baseline, cycles/s", ">its own dip, %", ">faults", ">first cycle, median, ms", ">worst, ms",
		">recovery, median, ms", ">worst, ms", ">not recovered", ">back in 1 s", ">dip, median, %", ">level", ">last to first", ">failed calls", ">refused completions",
		">tasks unknown", ">in doubt",
	}, rounds)
	p.Table([]string{
		">round", "fault", "target", "nodes", "led", ">began, s", ">over, s", ">first cycle, ms", ">before, cycles/s", ">recovery, ms", ">dip, %",
		">cycles/s meanwhile", ">cycles/s after",
	}, rows)
	if left > 0 {
		p.Paragraph("%s more are in the result.", render.Plural(left, "fault"))
	}
}

// recoverySentences reports the number of faults of a round from which the load recovered, how long
// the others were observed, and the final rate.
func recoverySentences(round string, f *result.Faults) string {
	not, watchedMs := f.NotRecovered()
	text := fmt.Sprintf("Round %s: of %s the load recovered from %d", round, render.Plural(len(f.Events), "fault"), len(f.Events)-not)
	if not > 0 {
		text += fmt.Sprintf("; from %d it had not after %s s", not, render.Number(watchedMs/1e3))
	}
	text += "."
	if share, faults := f.Level(); !math.IsNaN(share) {
		text += fmt.Sprintf(" The level after the last %s was %s %% of the baseline.", render.Plural(faults, "fault"), render.Number(100*share))
	}
	return text
}

func faultRow(round string, e result.Fault) []string {
	recovery, first := render.Number(e.RecoveryMs), render.Number(e.FirstAckMs)
	if e.Silent {
		first = "none in " + first
	}
	if !e.Recovered {
		recovery = "not in " + recovery
	}
	nodes := make([]string, len(e.Nodes))
	for i, n := range e.Nodes {
		nodes[i] = doc.Code(n)
	}
	return []string{
		round, doc.Escape(e.Kind), doc.Code(e.Target), strings.Join(nodes, ", "), doc.Code(e.Leader), render.Number(e.BeganS), render.Number(e.HealedS),
		first, render.Number(e.BeforePerS), recovery, render.Number(e.DipPercent), render.Number(e.FaultPerS), render.Number(e.AfterPerS),
	}
}

// Shown returns the first timed round with faults, which the plot shows.
func Shown(r *result.Result) (result.Round, bool) {
	for _, round := range r.Rounds {
		if f := round.Faults; f != nil && round.Timed() && len(f.Cycles) > 0 && f.SlotS > 0 {
			return round, true
		}
	}
	return result.Round{}, false
}

// Plot draws the cycles of the first timed round with faults over its window, with a band for
// each fault.
func Plot(r *result.Result) ([]byte, error) {
	round, found := Shown(r)
	if !found {
		return nil, plots.ErrNothing
	}
	f := round.Faults
	points := make(plotter.XYs, len(f.Cycles))
	limit := 0.0
	for i, cycles := range f.Cycles {
		points[i] = plotter.XY{X: (float64(i) + 0.5) * f.SlotS, Y: cycles / f.SlotS}
		limit = max(limit, points[i].Y)
	}
	if limit == 0 {
		return nil, plots.ErrNothing
	}
	limit *= 1.35
	end := float64(len(f.Cycles)) * f.SlotS
	p := plots.New(fmt.Sprintf("%s: cycles per second under faults, durability %s%s", r.Scenario, r.Manifest.Durability(), runs.WithInvalid(r)), "time in the window (s)", "cycles per second (1/s)")
	p.Add(plots.Grid(false))
	for i, e := range f.Events {
		band, err := plotter.NewPolygon(plotter.XYs{{X: e.BeganS, Y: 0}, {X: e.HealedS, Y: 0}, {X: e.HealedS, Y: limit}, {X: e.BeganS, Y: limit}})
		if err != nil {
			return nil, fmt.Errorf("plot fault %d: %w", i+1, err)
		}
		band.Color = plots.BandShade
		band.Width = 0
		p.Add(band)
		if i == 0 {
			p.Legend.Add("fault", band)
		}
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, fmt.Errorf("plot the cycles of round %d: %w", round.Number, err)
	}
	line.LineStyle = plots.Lines[0]
	line.Width = vg.Points(0.75)
	p.Add(line)
	p.Legend.Add(fmt.Sprintf("round %d", round.Number), line)
	plots.FromZero(&p.X, end, end)
	plots.FromZero(&p.Y, limit, limit/1.35*1.1)
	return plots.SVG(p)
}
