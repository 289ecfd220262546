package report

import "github.com/pronybench/prony/harness/result"

// seriesKind is a quantity in a series.
type seriesKind struct {
	plot, title, label string
	of                 func(result.Sample) float64
}

var (
	rateSeries   = seriesKind{"-series-rate", "cycles per second", "cycles per second (1/s)", func(s result.Sample) float64 { return s.CyclesPerS }}
	diskSeries   = seriesKind{"-series-disk", "size of the data folder", "allocated on disk (MB)", func(s result.Sample) float64 { return s.DiskMB }}
	memorySeries = seriesKind{"-series-memory", "server memory", "resident memory (MB)", func(s result.Sample) float64 { return s.ServerRSSMB }}
)

// seriesPlot draws a series of each timed round over its window, from zero.
func seriesPlot(r *result.Result, kind seriesKind) ([]byte, error) {
	c := seriesChart(r, kind)
	return c.Draw(0, 1.35, true) // room for the legend
}
