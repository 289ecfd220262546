// Package runs has what the sections of a run's page share: its rounds and points by name, and the
// form of a section.
package runs

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Split returns the timed and the profiled rounds, without those that only found a peak.
func Split(rounds []result.Round) (timed, profiled []result.Round) {
	for _, round := range rounds {
		switch {
		case round.Profiled:
			profiled = append(profiled, round)
		case round.Timed():
			timed = append(timed, round)
		}
	}
	return timed, profiled
}

// Timed returns the timed rounds of a run.
func Timed(r *result.Result) []result.Round {
	timed, _ := Split(r.Rounds)
	return timed
}

// PointName returns the name of a point.
func PointName(r *result.Result, number int) string {
	for _, p := range r.Points {
		if p.Number == number {
			return p.Name
		}
	}
	return fmt.Sprintf("point %d", number)
}

// RoundName names a round in a table without a column for its point.
func RoundName(r *result.Result, round result.Round) string {
	if len(r.Points) == 0 {
		return fmt.Sprint(round.Number)
	}
	return fmt.Sprintf("%d, %s", round.Number, doc.Code(PointName(r, round.Point)))
}

// PointNumbers returns the numbers of the points, or only 0 without a sweep.
func PointNumbers(r *result.Result) []int {
	if len(r.Points) == 0 {
		return []int{0}
	}
	var numbers []int
	for _, p := range r.Points {
		numbers = append(numbers, p.Number)
	}
	return numbers
}

// Polling returns a suffix for the durability if connections polled, because the figure does not
// apply without polling.
func Polling(r *result.Result) string {
	if words := r.Manifest.Polling(); words != "" {
		return ", " + words
	}
	return ""
}

// WithInvalid returns a suffix with the number of invalid timed rounds in a plot; "" if all are
// valid.
func WithInvalid(r *result.Result) string {
	timed, _ := Split(r.Rounds)
	invalid := 0
	for _, round := range timed {
		if round.Verdict == result.Invalid {
			invalid++
		}
	}
	if invalid == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of %s invalid)", invalid, render.Plural(len(timed), "timed round"))
}

// EndsProcesses reports whether a fault of the run ended a process.
func EndsProcesses(r *result.Result) bool {
	return slices.ContainsFunc(r.Rounds, func(round result.Round) bool {
		return round.Faults != nil && slices.ContainsFunc(round.Faults.Events, func(e result.Fault) bool { return scenario.EndsProcess(e.Kind) })
	})
}

// Share formats value as a share of another.
func Share(value, of float64) string {
	if of <= 0 {
		return doc.None
	}
	return render.Number(value / of)
}

// PerCycle formats a value for each cycle.
func PerCycle(v float64, cycles uint64) string {
	if cycles == 0 {
		return doc.None
	}
	return render.Number(v / float64(cycles))
}

// Cell formats a metric of a round.
func Cell(round result.Round, metric string) string { return CellOf(round.Metrics, metric) }

// CellOf formats one of several metrics.
func CellOf(metrics map[string]float64, metric string) string {
	v, found := metrics[metric]
	if !found {
		return doc.None
	}
	return render.Number(v)
}

// Section adds a section with a table of figures of the run, and a note that explains it, unless
// the table has no row.
func Section(p *doc.Document, r *result.Result, title, note string, header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.Heading(2, "%s, durability %s", title, doc.Code(r.Manifest.Durability()))
	p.Note("%s", note)
	p.Table(header, rows)
}
