package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

// profileSection shows the top entries of each profile, per cycle if the profiled round has cycles.
func profileSection(p *doc.Document, r *result.Result, kept keptProfiles) {
	if len(r.Profiles) == 0 {
		return
	}
	p.Heading(2, "Where the time went, durability %s", doc.Code(r.Manifest.Durability()))
	if len(r.Points) == 0 {
		profilesOf(p, r, kept, 0, r.Metrics)
		return
	}
	for _, point := range r.Points {
		profilesOf(p, r, kept, point.Number, point.Metrics)
	}
}

// profilesOf shows the profiles of one point; 0 is the point of a run without a sweep.
func profilesOf(p *doc.Document, r *result.Result, kept keptProfiles, point int, metrics map[string]result.Metric) {
	of := func(round result.Round) bool { return round.Point == point }
	whose := "Profiles are of the server"
	if slices.ContainsFunc(r.Profiles, func(p result.Profile) bool { return p.Point == point && p.Node == result.GeneratorNode }) {
		whose += " and of the load generator, whose heading says so,"
	}
	_, profiled := runs.Split(slices.DeleteFunc(slices.Clone(r.Rounds), func(round result.Round) bool { return !of(round) }))
	var cycles uint64
	at := ""
	if point != 0 {
		at = ", " + runs.PointName(r, point)
	}
	switch {
	case len(profiled) == 1:
		cycles = profiled[0].Cycles
		p.Paragraph("%s in round %d%s, which is profiled and not timed. Its window of %s s had %s cycles.%s",
			whose, profiled[0].Number, at, render.Digits(profiled[0].WindowSeconds, 3), render.Count(cycles), overhead(metrics))
	case len(profiled) > 1:
		var numbers []string
		for _, round := range profiled {
			cycles += round.Cycles
			numbers = append(numbers, strconv.Itoa(round.Number))
		}
		p.Paragraph("%s in rounds %s%s together, which are profiled and not timed. Their windows had %s cycles.%s", whose,
			strings.Join(numbers, ", "), at, render.Count(cycles), overhead(metrics))
	case point == 0:
		p.Paragraph("%s in profiled rounds, which are not timed.", whose)
	}
	for _, profile := range r.Profiles {
		if profile.Point == point {
			of := cycles
			if profile.Rounds > 0 {
				of = profile.Cycles
			}
			profileTable(p, r, kept, profile, at, of)
		}
	}
}

// overhead describes the cost of profiling, relative to the adjacent timed rounds, and whether it
// exceeds the noise.
func overhead(metrics map[string]result.Metric) string {
	rate, found := metrics[result.ProfilingOverheadRatio]
	if !found {
		return ""
	}
	measured := fmt.Sprintf("the adjacent timed rounds were %s times as fast (%s to %s, %s)",
		render.Number(rate.Median), render.Number(rate.Low), render.Number(rate.High), render.Plural(rate.N, "pair"))
	if rate.N < stat.MinIntervalN || rate.Low <= 1 {
		return " The cost of profiling is within the noise: " + measured + "."
	}
	return " Profiling slowed them down: " + measured + "."
}

func profileTable(p *doc.Document, r *result.Result, kept keptProfiles, profile result.Profile, at string, cycles uint64) {
	if profile.Node != "" {
		at += ", " + profile.Node
	}
	p.Heading(3, "Profile %s%s", doc.Code(profile.Kind), at)
	// A goroutine profile is a snapshot: it cannot be divided by cycles.
	perCycle := cycles > 0 && profile.Kind != "goroutine"
	total := render.Amount(profile.Total, profile.Unit)
	if profile.Unit == "count" {
		total = render.Whole(profile.Total)
	}
	if perCycle {
		total += fmt.Sprintf(", %s per cycle", render.Amount(profile.Total/float64(cycles), profile.Unit))
	}
	p.Paragraph("Total: %s, durability %s. File: %s.", total, doc.Code(r.Manifest.Durability()), kept.link(profile))
	for _, caveat := range caveats(r.Manifest, profile.Kind) {
		p.Paragraph("%s", caveat)
	}
	if len(profile.Top) == 0 {
		p.Paragraph("It has no entries: nothing of this kind happened in the window.")
		return
	}
	header := []string{"function", ">share", ">flat", ">flat + callees"}
	if perCycle {
		header = append(header, ">flat per cycle")
	}
	var rows [][]string
	for _, entry := range profile.Top {
		row := []string{
			doc.Code(entry.Function), render.Percent(entry.Share), render.Amount(entry.Flat, profile.Unit), render.Amount(entry.Cum, profile.Unit),
		}
		if perCycle {
			row = append(row, render.Amount(entry.Flat/float64(cycles), profile.Unit))
		}
		rows = append(rows, row)
	}
	p.Table(header, rows)
	chargesTable(p, profile, perCycle, cycles)
}

// chargesMax is the maximum number of charged functions on a page.
const chargesMax = 12

// chargesTable shows the cost of the server's own functions, including their calls to libraries.
func chargesTable(p *doc.Document, profile result.Profile, perCycle bool, cycles uint64) {
	if len(profile.Charges) == 0 || profile.Total <= 0 {
		return
	}
	whose := "the server's own functions"
	if profile.Node == result.GeneratorNode {
		whose = "the load generator's own functions (those of `harness/` only measure)"
	}
	p.Paragraph("Charged to the innermost of %s in each stack, including its calls to libraries:", whose)
	header := []string{"function", ">share", ">value", ">samples", "called by"}
	if perCycle {
		header = append(header, ">per cycle")
	}
	var rows [][]string
	for _, c := range profile.Charges[:min(len(profile.Charges), chargesMax)] {
		var callers []string
		for _, caller := range c.Callers {
			callers = append(callers, doc.Code(render.Function(caller)))
		}
		row := []string{doc.Code(c.Function), render.Percent(c.Value / profile.Total), render.Amount(c.Value, profile.Unit), render.Count(c.Samples), strings.Join(callers, ", ")}
		if perCycle {
			row = append(row, render.Amount(c.Value/float64(cycles), profile.Unit))
		}
		rows = append(rows, row)
	}
	p.Table(header, rows)
}

// tracesSection lists the stored execution traces, with the reason.
func tracesSection(p *doc.Document, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		for _, t := range round.Traces {
			rows = append(rows, []string{runs.RoundName(r, round), doc.Code(t.Node), render.Number(t.AtS), render.Number(t.LatencyMs), render.Number(t.CeilingMs), doc.Code(t.File)})
		}
	}
	runs.Section(p, r, "Traces",
		"Execution traces of the servers for the seconds before a profiled round's first cycle above the scenario's ceiling, in the format of `go tool trace`.",
		[]string{">round", "node", ">at, s", ">cycle, ms", ">ceiling, ms", "file"}, rows)
}

// caveats explains how to read a profile of a kind.
func caveats(m result.Manifest, kind string) []string {
	switch kind {
	case "cpu":
		return []string{"CPU time is sampled, 100 times a second for each running thread: entries of a few samples are uncertain."}
	case "mutex":
		caveat := "Delay is the wait of others, charged to the function that unlocked. Locks inside the Go runtime appear under runtime-internal names."
		if fraction := capture(m, kind).MutexFraction; fraction > 0 {
			if fraction == 1 {
				return []string{"Every contended unlock is recorded. " + caveat}
			}
			return []string{fmt.Sprintf("One contended unlock in %s is recorded and scaled up. %s", render.Digits(float64(fraction), 3), caveat)}
		}
		return []string{caveat}
	case "block":
		caveat := "Delay is charged to the function that waited, including goroutines that wait for work, so the total may exceed the window."
		if rate := capture(m, kind).BlockRate; rate > 0 {
			return []string{fmt.Sprintf("Waits of at least %s are all recorded, shorter ones by a proportional sample. %s", render.Amount(float64(rate), "nanoseconds"), caveat)}
		}
		return []string{caveat}
	case "allocs":
		return []string{"Allocations are sampled, by default one for each 512 KiB allocated, and scaled up."}
	case "goroutine":
		return []string{"Goroutines are counted at one moment, not over the window."}
	default:
		return nil
	}
}

// capture returns the capture of a kind in the scenario, or an empty one.
func capture(m result.Manifest, kind string) (found scenario.Capture) {
	for _, c := range m.Scenario.Captures {
		if c.Kind == kind {
			return c
		}
	}
	return found
}
