package report

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
)

// marksTextMax is the maximum number of disturbed slices in the text.
const marksTextMax = 5

func lookText(c *result.Comparison) string {
	d := c.Duet
	text := render.Plural(c.Blocks, "generation")
	if c.Dropped > 0 {
		text += fmt.Sprintf(" of %d", d.Measured)
	}
	text += fmt.Sprintf(" in %s s, look %d of %d", render.Digits(d.Seconds, 3), d.Look, d.Looks)
	if !d.Decided {
		text += ", to be continued"
	}
	return text
}

func conditionsText(d *result.DuetJudgement) string {
	parts := []string{words.Slices(d.SliceMs, d.Together, d.CPUs)}
	if d.OpenPerS > 0 {
		parts = append(parts, fmt.Sprintf("latencies at an open load of %s/s", render.Digits(d.OpenPerS, 3)))
	} else {
		parts = append(parts, "no open load, so no latencies")
	}
	parts = append(parts, render.Plural(d.Layouts, "linker layout")+" of each server")
	if d.OwnClients {
		parts = append(parts, "each side with its own client")
	} else {
		parts = append(parts, "both sides with the harness's client")
	}
	return strings.Join(parts, ", ")
}

// duetText writes the tables of a duet.
func duetText(b *strings.Builder, c *result.Comparison) {
	d := c.Duet
	if d.Measured > 0 {
		fmt.Fprintf(b, "  durability %s, %s\n", d.Durability, conditionsText(d))
		settingsText(b, d)
	}
	primaries, counters := splitDeltas(c.Metrics)
	if len(primaries) > 0 {
		t := render.Table{Header: []string{"", "primary", "unit", ">base", ">change", ">loss", ">at least", ">at most", ">margin", ">control", "verdict"}}
		for _, m := range primaries {
			l := m.Loss
			row := []string{
				marks[m.Outcome], m.Metric, m.Unit, shortMedian(m.Base), shortMedian(m.Change), "-", "-", "-", render.Percent(l.Margin), "-", string(m.Outcome),
			}
			if len(l.Generations) > 0 {
				row[5], row[6], row[7] = signed(l.Estimate), signed(l.Low), signed(l.High)
			}
			if m.ControlRatio > 0 {
				row[9] = render.Change(m.ControlRatioLow) + " to " + render.Change(m.ControlRatioHigh)
			}
			t.Rows = append(t.Rows, row)
		}
		b.WriteString("\n" + t.Text("  ") + "\n")
	}
	if len(counters) > 0 {
		t := render.Table{Header: []string{"", "counter", "unit", ">base", ">change", ">difference", "verdict"}}
		for _, m := range counters {
			t.Rows = append(t.Rows, []string{
				marks[m.Outcome], m.Metric, m.Unit, shortMedian(m.Base), shortMedian(m.Change), changeOrNone(m.Ratio), string(m.Outcome),
			})
		}
		b.WriteString(t.Text("  ") + "\n")
	}
	if len(d.Shown) > 0 {
		t := render.Table{Header: []string{"not judged", "unit", ">base", ">change"}}
		for _, f := range d.Shown {
			t.Rows = append(t.Rows, []string{f.Name, f.Unit, render.Digits(f.Base, 4), render.Digits(f.Change, 4)})
		}
		b.WriteString(t.Text("  ") + "\n")
	}
}

// marksText writes the disturbances of a duet.
func marksText(b *strings.Builder, all []string) {
	for i, mark := range all {
		if i == marksTextMax {
			fmt.Fprintf(b, "  %s\n", render.Plural(len(all)-i, "more disturbance"))
			break
		}
		fmt.Fprintf(b, "  disturbed: %s\n", mark)
	}
}

func splitDeltas(all []result.MetricDelta) (primaries, counters []result.MetricDelta) {
	for _, m := range all {
		if m.Loss != nil {
			primaries = append(primaries, m)
		} else {
			counters = append(counters, m)
		}
	}
	return primaries, counters
}

func signed(loss float64) string { return render.Change(1 + loss) }

func changeOrNone(ratio float64) string {
	if ratio <= 0 {
		return "-"
	}
	return render.Change(ratio)
}
