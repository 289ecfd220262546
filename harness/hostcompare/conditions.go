package hostcompare

import (
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// conditions returns the measurements of the hosts before each run, which differ between runs. A
// figure that no run of either side recorded is omitted, except the median of fsync.
func conditions(a, b Set) (rows []Row) {
	for _, of := range []struct {
		name   string
		always bool
		of     func(result.Host) (v float64, known bool)
	}{
		{"fsync there, median of the runs' medians, ms", true, positive(func(h result.Host) float64 { return h.FsyncMsP50 })},
		{"fsync there, median of the runs' p99, ms", false, positive(func(h result.Host) float64 { return h.FsyncMsP99 })},
		{"thread hop, median of the runs' medians, us", false, positive(func(h result.Host) float64 { return h.ThreadHopUsP50 })},
		{"thread hop, median of the runs' p99, us", false, positive(func(h result.Host) float64 { return h.ThreadHopUsP99 })},
		{"CPU pressure (PSI) before the runs, median, %", false, func(h result.Host) (float64, bool) {
			if h.PressureCPUPercent == nil {
				return 0, false
			}
			return *h.PressureCPUPercent, true
		}},
	} {
		ofA, knownA := median(a, of.of)
		ofB, knownB := median(b, of.of)
		if of.always || knownA || knownB {
			rows = append(rows, Row{of.name, []string{ofA}, []string{ofB}})
		}
	}
	return rows
}

func positive(of func(result.Host) float64) func(result.Host) (float64, bool) {
	return func(h result.Host) (float64, bool) { return of(h), of(h) > 0 }
}

func median(s Set, of func(result.Host) (float64, bool)) (text string, known bool) {
	var values []float64
	for _, r := range s.all {
		if v, known := of(r.Manifest.Host); known {
			values = append(values, v)
		}
	}
	center, err := stat.Summarise(values)
	if err != nil {
		return unknown, false
	}
	return render.Digits(center.Center, 3), true
}
