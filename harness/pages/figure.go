package pages

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// dataLink returns the link of a page to the data of that name. On a code host it leads to the
// folder of the data. In the HTML document of all pages it leads to the rendered page of the data.
func dataLink(name string) string { return "data/" + name }

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

// in formats a number with the precision of the figure's unit.
func (v *value) in(n float64) string {
	if strings.HasSuffix(v.metric, worsePercent) {
		return report.SoakPercent(n)
	}
	return report.Value(v.Unit, n)
}

// interval returns the text between the brackets of a figure, or "" without an interval. A bare
// "39,500 to 41,300" is a 95 % confidence interval; everything else is labelled.
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
	return v.bounds().words(v.in(v.Low), v.in(v.High), v.N, "round")
}

// bounds is the kind of an interval.
type bounds int

const (
	ci95 bounds = iota // 95 % confidence interval
	ci90
	ranged // lowest and highest round, or the only one
)

func (v *value) bounds() bounds {
	spec, _ := result.Lookup(v.metric)
	switch {
	case v.single:
		return ranged
	case v.of.serial != nil:
		return ci95
	case v.of.soak != nil || spec.Bounded: // one-sided bounds with 95 % each
		return ci90
	case v.Resampled:
		return ci95
	case spec.Merged() || v.N < stat.MinIntervalN:
		return ranged
	}
	return ci95
}

func (b bounds) words(low, high string, n int, noun string) string {
	text := low + " to " + high
	switch {
	case b == ci90:
		return "90 % CI " + text
	case b == ranged && n > 1 && n < stat.MinIntervalN:
		return fmt.Sprintf("range %s, %d %ss", text, n, noun)
	case b == ranged:
		return "range " + text
	}
	return text
}

// String formats the figure with its unit and its interval.
func (v *value) String() string { return v.amount() + brackets(v.shownInterval()) }

func (v *value) amount() string { return strings.TrimSpace(v.in(v.Median) + " " + v.unit()) }

// shownInterval returns the interval, or "" if both ends have the same text as the figure.
func (v *value) shownInterval() string {
	if !v.single && v.in(v.Low) == v.in(v.Median) && v.in(v.High) == v.in(v.Median) {
		return ""
	}
	return v.interval()
}

// brackets puts an interval into brackets after a space. It returns "" without an interval.
func brackets(interval string) string {
	if interval == "" {
		return ""
	}
	return " (" + interval + ")"
}

// link returns the link to the section with the figure on the data's page.
func (v *value) link() string { return dataLink(v.of.name) + "#" + v.anchor }

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
