// Package stalls shows the slow commits of a run by their causes.
package stalls

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// stallsListed is the number of slow commits on a page.
const stallsListed = 20

var causeMeanings = map[string]string{
	"semaphore":  "the limit of concurrent commits in Pebble",
	"memtables":  "the limit of memtables that wait for their flush",
	"level0":     "the limit of tables that wait for their compaction",
	"rotation":   "Pebble switched to a new log",
	"fsync":      "the log's fsync",
	"behind":     "earlier commits, which are answered first",
	"raft_room":  "the limit of concurrent entries in Raft",
	"replicate":  "until a majority had the entry and it was its turn to be applied",
	"flush":      "no known wait; a flush ran",
	"compaction": "no known wait; a compaction ran",
	"gc":         "no known wait; a garbage collection ended",
	"scheduler":  "no known wait; a goroutine waited for a processor",
	"other":      "none of these",
}

// Section shows the slow commits of the timed rounds by their causes, and the longest of
// them.
func Section(p *doc.Document, r *result.Result) {
	rounds := runs.Timed(r)
	causes := result.MergeStallCauses(rounds)
	if len(causes) == 0 {
		return
	}
	p.Heading(2, "Slow commits, durability %s", doc.Code(r.Manifest.Durability()))
	p.Paragraph("The servers record each commit that took more than %s ms, from its submission until it was durable, with the causes of its"+
		" time. Waits in Pebble and in Raft are measured. The rest of a commit's time is charged to work that ran during at least"+
		" half of it, flushes before compactions, then to a garbage collection that ended in it, then to a wait for a processor. A commit"+
		" counts under the cause with the largest part of its time. The table covers all timed rounds.", render.Number(slowMs(rounds)))
	var rows [][]string
	for _, c := range causes {
		rows = append(rows, []string{doc.Code(c.Cause), doc.Escape(causeMeanings[c.Cause]), render.Count(c.Commits), render.Number(c.Ms)})
	}
	p.Table([]string{"cause", "what", ">commits", ">time, ms"}, rows)
	longestCommits(p, r)
}

func slowMs(rounds []result.Round) float64 {
	for _, round := range rounds {
		if round.Stalls != nil {
			return round.Stalls.SlowMs
		}
	}
	return 0
}

// Commit is a slow commit of a round.
type Commit struct {
	Round  *result.Round
	Commit result.SlowCommit
}

// Slowest returns the slow commits of the timed rounds that a page lists, the longest first.
func Slowest(r *result.Result) []Commit {
	var all []Commit
	for i := range r.Rounds {
		round := &r.Rounds[i]
		if !round.Timed() || round.Stalls == nil {
			continue
		}
		for _, c := range round.Stalls.Commits {
			all = append(all, Commit{round, c})
		}
	}
	slices.SortStableFunc(all, func(a, b Commit) int { return cmp.Compare(b.Commit.Ms, a.Commit.Ms) })
	return all[:min(len(all), stallsListed)]
}

// KeepShown removes the slow commits and the stores' background work that the page of r does
// not show, and counts the commits as missing. A page lists the longest commits of all valid
// rounds, and draws the round with the longest one.
func KeepShown(r *result.Result) {
	listed := Slowest(r)
	for _, rounds := range [][]result.Round{r.Rounds, r.Repeated} {
		for i := range rounds {
			round := &rounds[i]
			if round.Stalls == nil || len(listed) > 0 && round == listed[0].Round {
				continue
			}
			round.Stalls = keepListed(round, listed)
		}
	}
}

// keepListed returns a round's record of slow commits with only the listed ones and without the
// stores' background work.
func keepListed(round *result.Round, listed []Commit) *result.Stalls {
	less := *round.Stalls
	less.Commits = slices.DeleteFunc(slices.Clone(less.Commits), func(c result.SlowCommit) bool {
		return !slices.ContainsFunc(listed, func(l Commit) bool { return l.Round == round && l.Commit.AtS == c.AtS && l.Commit.Ms == c.Ms })
	})
	less.Missing += uint64(len(round.Stalls.Commits) - len(less.Commits))
	less.Work = nil
	return &less
}

// longestCommits lists the longest slow commits of the windows.
func longestCommits(p *doc.Document, r *result.Result) {
	all := Slowest(r)
	if len(all) == 0 {
		p.Paragraph("None of them ended in a window.")
		return
	}
	var rows [][]string
	for _, o := range all {
		c := o.Commit
		rows = append(rows, []string{
			runs.RoundName(r, *o.Round), render.Number(c.AtS), render.Number(c.Ms), doc.Code(Place(c)), fmt.Sprint(c.Commands), Parts(c), Beside(c),
		})
	}
	p.Paragraph("The longest commits of the windows. The last column lists the concurrent work of all stores of the commit's node, with its duration.")
	p.Table([]string{">round", ">at, s", ">ms", "shard", ">commands", "time by cause, ms", "beside it"}, rows)
}

// Place names the shard of a slow commit, and in a cluster the node.
func Place(c result.SlowCommit) string {
	if c.Node == "" {
		return fmt.Sprint(c.Shard)
	}
	return fmt.Sprintf("%s/%d", c.Node, c.Shard)
}

// Parts formats the time of a slow commit by cause, the largest part first.
func Parts(c result.SlowCommit) string {
	causes := slices.Collect(maps.Keys(c.CausesMs))
	slices.SortFunc(causes, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.CausesMs[b], c.CausesMs[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, cause := range causes {
		parts = append(parts, fmt.Sprintf("%s %s", cause, render.Number(c.CausesMs[cause])))
	}
	return strings.Join(parts, ", ")
}

// Beside lists the work that ran during a slow commit.
func Beside(c result.SlowCommit) string {
	var parts []string
	add := func(what string, ms float64) {
		if ms > 0 {
			parts = append(parts, fmt.Sprintf("%s %s ms", what, render.Number(ms)))
		}
	}
	add("flush", c.FlushMs)
	add("compaction", c.CompactionMs)
	add("fsync", c.FsyncMs)
	add("append", c.AppendMs)
	if c.Collections > 0 {
		parts = append(parts, render.Plural(c.Collections, "collection"))
	}
	add("longest wait for a processor", c.SchedulerMs)
	if len(parts) == 0 {
		return doc.None
	}
	return strings.Join(parts, ", ")
}

// Plot draws the slow commits of the timed round with the longest one over its window, with
// flushes and compactions.
func Plot(r *result.Result) ([]byte, error) {
	listed := Slowest(r)
	if len(listed) == 0 {
		return nil, plots.ErrNothing
	}
	worst, longest := *listed[0].Round, listed[0].Commit.Ms
	p := plots.New(fmt.Sprintf("%s: slow commits of round %d, durability %s", r.Scenario, worst.Number, r.Manifest.Durability()), "time in the window (s)", "time of a commit (ms)")
	limit := longest * 1.35
	end := worst.WindowSeconds
	if err := addBands(p, worst, "flush", "a flush ran", plots.BandShade, limit); err != nil {
		return nil, err
	}
	if err := addBands(p, worst, "compaction", "a compaction ran", plots.Grey, limit/25); err != nil {
		return nil, err
	}
	p.Add(plots.Grid(false))
	for i, c := range worst.Stalls.Commits {
		line, err := plotter.NewLine(plotter.XYs{{X: c.AtS, Y: 0}, {X: c.AtS + c.Ms/1e3, Y: c.Ms}})
		if err != nil {
			return nil, fmt.Errorf("plot the slow commits of round %d: %w", worst.Number, err)
		}
		line.LineStyle = draw.LineStyle{Color: plots.Blue, Width: vg.Points(1.25)}
		p.Add(line)
		if i == 0 {
			p.Legend.Add("a commit of more than "+render.Number(worst.Stalls.SlowMs)+" ms, from its start to its end", line)
		}
	}
	plots.FromZero(&p.X, end, end)
	plots.FromZero(&p.Y, limit, longest*1.1)
	return plots.SVG(p)
}

// addBands shades the times of a round's window in which a kind of work ran, up to a height.
func addBands(p *plot.Plot, round result.Round, kind, legend string, shade color.Color, height float64) error {
	named := false
	for _, w := range round.Stalls.Work {
		if w.Kind != kind {
			continue
		}
		from, to := max(0, w.AtS), min(round.WindowSeconds, w.AtS+w.Ms/1e3)
		band, err := plotter.NewPolygon(plotter.XYs{{X: from, Y: 0}, {X: to, Y: 0}, {X: to, Y: height}, {X: from, Y: height}})
		if err != nil {
			return fmt.Errorf("plot each %s of round %d: %w", kind, round.Number, err)
		}
		band.Color, band.Width = shade, 0
		p.Add(band)
		if !named {
			p.Legend.Add(legend, band)
			named = true
		}
	}
	return nil
}
