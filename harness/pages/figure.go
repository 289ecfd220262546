package pages

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

// dataPages has the pages that are made from data alone, as links of a page name them.
const dataPages = "scenarios"

// unit is the unit of a figure as a sentence has it: "cycles/s", "µs/cycle", "ms".
func (v *value) unit() string {
	unit := strings.Replace(v.Unit, "us", "µs", 1)
	switch {
	case v.metric == result.OfferedPerS:
		return "tasks/s"
	case v.Unit == "1/s":
		before, _, _ := strings.Cut(v.metric, "_per_s")
		return before[strings.LastIndexByte(before, '_')+1:] + "/s"
	case strings.HasSuffix(v.metric, "_per_cycle"):
		return unit + "/cycle"
	case strings.HasSuffix(v.metric, "_per_request"):
		return unit + "/request"
	case v.Unit == "ratio":
		return ""
	}
	return unit
}

// in writes a number of the figure's unit.
func (v *value) in(n float64) string {
	if strings.HasSuffix(v.metric, worsePercent) {
		return report.SoakPercent(n)
	}
	return report.Value(v.Unit, n)
}

// interval says how far the figure is known: "39,500 to 41,300", "one round", or "" of a figure that has no interval.
func (v *value) interval() string {
	switch {
	case v.sum:
		return ""
	case v.single && v.of.serial != nil:
		return "one window"
	case v.single && v.of.run != nil:
		return "one round"
	case v.single:
		return ""
	}
	return v.in(v.Low) + " to " + v.in(v.High) + few(v.N, "round")
}

// few says how many rounds an interval is of, if they are too few for one of 95 %: it is their range then.
func few(n int, noun string) string {
	if n < 2 || n >= roundsMin {
		return ""
	}
	return fmt.Sprintf(", %d %ss", n, noun)
}

// roundsMin is from how many rounds on a median has an interval of 95 %.
const roundsMin = 6

// String is the figure with its unit, and with its interval where that shows another number.
func (v *value) String() string {
	text := strings.TrimSpace(v.in(v.Median) + " " + v.unit())
	exact := !v.single && v.in(v.Low) == v.in(v.Median) && v.in(v.High) == v.in(v.Median)
	if interval := v.interval(); interval != "" && !exact {
		text += " (" + interval + ")"
	}
	return text
}

// link is where the page of the data has the figure.
func (v *value) link() string { return fmt.Sprintf("%s/%s.md#%s", dataPages, v.of.name, v.anchor) }

// place names the data and the point of a figure.
func (v *value) place() string {
	text := "`" + v.of.name + "`"
	if v.point.Number > 0 {
		text += ", `" + v.point.Name + "`"
	}
	if v.workload != "" {
		text += ", workload `" + v.workload + "`"
	}
	return text
}

// named names a figure in an error.
func (v *value) named() string {
	text := fmt.Sprintf("%s of %s", v.metric, v.of.name)
	if v.point.Number > 0 {
		text += " at " + v.point.Name
	}
	if v.workload != "" {
		text = v.workload + "." + text
	}
	return text + " = " + v.String()
}
