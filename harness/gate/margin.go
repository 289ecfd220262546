package gate

import (
	"math"

	"github.com/pronybench/prony/harness/result"
)

// margin returns the relative distance of a value from its limit, negative if violated. It is nil
// for a limit of 0 and if the distance is not finite.
func margin(l Limit, value float64) *float64 {
	if l.Value == 0 || math.IsInf(l.Value, 0) {
		return nil
	}
	m := (value - l.Value) / l.Value
	if l.Kind == Ceiling {
		m = -m
	}
	if !finite(m) {
		return nil
	}
	return &m
}

// Limits returns the report's limits in the form of result documents.
func (r *Report) Limits() []result.JudgedLimit {
	var all []result.JudgedLimit
	for _, f := range r.Findings {
		all = append(all, result.JudgedLimit{
			Metric: f.Metric, Point: f.Point, Workload: f.Workload, Kind: string(f.Kind), Limit: f.Limit,
			Value: f.Value, Margin: f.Margin, OfBaseline: f.OfBaseline, Judged: f.Judged, OK: f.OK,
		})
	}
	return all
}
