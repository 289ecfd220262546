package gate

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// limitName is the type of the block that limits a metric in a scenario.
const limitName = "limit"

var (
	boundNames = map[Kind]string{Floor: "min", Ceiling: "max"}
	opposite   = map[Kind]Kind{Floor: Ceiling, Ceiling: Floor}
)

// CheckLimit is a scenario.LimitCheck. It reports the same problems of a scenario's limit block as
// LoadBaselines does for a floor or a ceiling of a baseline.
func CheckLimit(b *hclfile.Block) {
	spec, known := result.Lookup(b.Label())
	switch {
	case b.Has(ofBaselineName) && known:
		readLimit(b, kindOf(spec))
	case b.Has("min") == b.Has("max"):
		readMetric(b, "") // the kind is ambiguous
	case b.Has("min"):
		readLimit(b, Floor)
	default:
		readLimit(b, Ceiling)
	}
}

// carriedLimit is a limit from a scenario, with the place of its block at the time of the run.
type carriedLimit struct {
	Limit
	where string
}

// carried returns the limits of the scenario as r stored it, and a sentence for each limit that
// cannot be judged. Such limits exist because the program version that stored r may have had other
// metrics.
func carried(r *result.Result) (limits []carriedLimit, unfit []string) {
	for _, l := range r.Manifest.Scenario.Limits {
		limit, why := limitOf(l)
		if why != "" {
			unfit = append(unfit, fmt.Sprintf("the limit on %s at %s can't be judged: %s", l.Metric, l.Where, why))
			continue
		}
		limits = append(limits, carriedLimit{limit, l.Where})
	}
	return limits, unfit
}

// limitOf converts a limit of a scenario to a limit of a baseline, or returns the reason why it
// cannot.
func limitOf(l scenario.Limit) (limit Limit, why string) {
	limit = termsOf(l)
	limit.Metric, limit.Kind = l.Metric, Floor
	spec, known := result.Lookup(l.Metric)
	if l.OfBaseline != nil && known {
		limit.Kind, limit.Value, limit.OfBaseline = kindOf(spec), *l.OfBaseline, true
		return limit, unfitRatio(limit, spec)
	}
	value, wrong := l.Min, result.Lower
	if l.Max != nil {
		limit.Kind, value, wrong = Ceiling, l.Max, result.Higher
	}
	switch {
	case !known:
		return limit, "this program has no such metric"
	case (l.Min == nil) == (l.Max == nil):
		return limit, "it needs exactly one of min and max"
	case spec.Better == wrong && (limit.Kind != Floor || !spec.Promised):
		return limit, fmt.Sprintf("the metric is better when %s", spec.Better)
	case spec.OfLedger() && *value > 0:
		return limit, "nothing may loosen the ceiling of 0"
	case !finite(*value) || *value < 0 || *value == 0 && !spec.Zero:
		return limit, "its bound is not a value that the metric can have"
	}
	limit.Value = *value
	return limit, ""
}

// termsOf returns a limit with the attributes that scenarios and baselines share.
func termsOf(l scenario.Limit) Limit {
	return Limit{
		Point: l.Point, RelativeToPoint: l.RelativeToPoint, Workload: l.Workload, Because: l.Because, Observed: l.Observed, On: l.On, Unobserved: l.Unobserved,
	}
}

// joined returns the limits of a baseline followed by those of a scenario, and a sentence for each
// limit that both define.
func joined(b Baseline, own []carriedLimit) (limits []Limit, twice []string) {
	limits = slices.Clone(b.Limits)
	named := b.where
	if len(b.Limits) == 0 { // the baseline's limits are for another configuration
		named = nil
	}
	for _, l := range own {
		if first, is := named[l.name()]; is {
			twice = append(twice, fmt.Sprintf("%s has two limits, at %s and at %s: keep one of the two", l.name(), first, l.where))
			continue
		}
		limits = append(limits, l.Limit)
	}
	return limits, twice
}
