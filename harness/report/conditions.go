package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
)

// ConditionWords describes in one line of Markdown the measurements of hosts before the first round
// of their runs: fsync, the hop between two OS threads, and CPU pressure. Several runs yield a
// range. It omits missing figures, and returns "" if there are none.
func ConditionWords(hosts ...result.Host) string {
	var words []string
	add := func(name, unit string, p50, p99 func(result.Host) float64) {
		median, tail := rangeOf(hosts, p50, unit), rangeOf(hosts, p99, unit)
		switch {
		case median != "" && tail != "":
			words = append(words, fmt.Sprintf("median %s %s (p99 %s)", name, median, tail))
		case median != "":
			words = append(words, fmt.Sprintf("median %s %s", name, median))
		}
	}
	add("fsync", "ms", func(h result.Host) float64 { return h.FsyncMsP50 }, func(h result.Host) float64 { return h.FsyncMsP99 })
	add("thread hop", "µs", func(h result.Host) float64 { return h.ThreadHopUsP50 }, func(h result.Host) float64 { return h.ThreadHopUsP99 })
	var pressures []float64
	for _, h := range hosts {
		if h.PressureCPUPercent != nil {
			pressures = append(pressures, *h.PressureCPUPercent)
		}
	}
	if pressure := span(pressures, "%"); pressure != "" {
		words = append(words, "CPU pressure "+pressure)
	}
	if len(words) == 0 {
		return ""
	}
	return "before the first round: " + strings.Join(words, ", ")
}

// rangeOf formats the known values of hosts, or returns "" if there are none.
func rangeOf(hosts []result.Host, of func(result.Host) float64, unit string) string {
	var values []float64
	for _, h := range hosts {
		if v := of(h); v > 0 {
			values = append(values, v)
		}
	}
	return span(values, unit)
}

// span formats the lowest and the highest of several values.
func span(values []float64, unit string) string {
	if len(values) == 0 {
		return ""
	}
	low, high := render.Digits(slices.Min(values), 3), render.Digits(slices.Max(values), 3)
	if low == high {
		return low + " " + unit
	}
	return low + " to " + high + " " + unit
}

// conditionRows returns rows of the provenance with the measurements of the host before the first
// round, except fsync. Runs of older versions have none.
func conditionRows(h result.Host) (rows [][]string) {
	if h.ThreadHopUsP50 > 0 {
		rows = append(rows, []string{
			"hop between two OS threads, before the first round",
			fmt.Sprintf("median %s, 99th percentile %s", words.Known(h.ThreadHopUsP50, "µs"), words.Known(h.ThreadHopUsP99, "µs")),
		})
	}
	if h.PressureCPUPercent != nil {
		rows = append(rows, []string{"CPU pressure (PSI) of the ten seconds before the run", render.Digits(*h.PressureCPUPercent, 3) + " %"})
	}
	return rows
}
