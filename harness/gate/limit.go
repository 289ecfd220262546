package gate

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

var (
	floorBlock = hclfile.Inner{
		Names: hclfile.Names{Attributes: scenario.LimitAttributes("min")},
		Label: "metric", Example: `floor "cycles_per_s" { min = 20000  because = "..." }`,
	}
	ceilingBlock = hclfile.Inner{
		Names: hclfile.Names{Attributes: scenario.LimitAttributes("max")},
		Label: "metric", Example: `ceiling "cycle_latency_ms_p99" { max = 250  because = "..." }`,
	}
)

// readLimit reads floor "METRIC" { min point workload observed on because } or ceiling "METRIC" {
// max ... }. ok is false if the metric is unknown or does not allow a limit of that kind.
func readLimit(b *hclfile.Block, kind Kind) (l Limit, ok bool) {
	spec, ok := readMetric(b, kind)
	l = termsOf(scenario.ReadLimitTerms(b))
	l.Metric, l.Kind = spec.Name, kind
	if b.Has(ofBaselineName) {
		return readOfBaseline(b, l, spec), ok
	}
	bound, example := "min", "20000"
	if kind == Ceiling {
		bound, example = "max", "250"
	}
	if spec.OfLedger() {
		example = "0"
	}
	value, given := b.Number(bound, hclfile.NumberSpec{
		Required: true, Example: example, AllowZero: l.Kind == Ceiling && spec.Zero,
	})
	if spec.OfLedger() && kind == Ceiling && given && value > 0 {
		b.AttrProblem(bound, fmt.Sprintf("%s is %v, but the ceiling on %s is 0 for every scenario and cannot be raised", bound, value, l.Metric),
			"remove the "+b.Type()+", which is implied")
	}
	l.Value = value
	l.Observed = readObserved(b, l, given, spec.Zero || spec.Bounded)
	if l.Unobserved != "" && l.On != "" {
		b.AttrProblem("unobserved", "unobserved and observed exclude each other", "remove one of them")
	}
	switch {
	case l.RelativeToPoint != "" && l.Point == "":
		b.AttrProblem("relative_to_point", "relative_to_point needs a point to compare", `add point = "shards=4"`)
	case l.RelativeToPoint != "" && l.RelativeToPoint == l.Point:
		b.AttrProblem("relative_to_point", "relative_to_point equals point, so the ratio is always 1", "name another point")
	}
	if spec.Bounded && l.RelativeToPoint != "" {
		b.AttrProblem("relative_to_point", l.Metric+" is judged by its bounds, and bounds of two points have no ratio", "remove relative_to_point")
	}
	if l.Point != "" && spec.OfLedger() {
		b.AttrProblem("point", l.Metric+" is a sum over all rounds, not of one point", "remove point")
	}
	if l.Workload != "" && !spec.OfWorkload() {
		b.AttrProblem("workload", l.Metric+" covers all workloads together", "remove workload")
	}
	return l, ok
}

// name returns the name of the limited metric, preceded by the limit's point and workload. The name
// marks a ratio to the baseline build. It also marks a floor on a metric that servers promise,
// because such a metric can have both a floor and a ceiling. The name is unique among the limits of
// a baseline and its scenario.
func (l Limit) name() string {
	name := at(l.Point) + at(l.Workload) + l.Metric
	if l.OfBaseline {
		return name + " of the baseline build"
	}
	if spec, _ := result.Lookup(l.Metric); spec.Promised && l.Kind == Floor {
		name += ", its floor"
	}
	return name
}

// metricsRenamed maps former names of metrics to the current ones.
var metricsRenamed = map[string]string{"shed": result.Dropped}

// readMetric returns the metric that a block limits. If the metric does not allow a limit of that
// kind, it reports this and returns false for ok.
func readMetric(b *hclfile.Block, kind Kind) (spec result.Spec, ok bool) {
	name := b.Label()
	spec, known := result.Lookup(name)
	switch {
	case !known:
		remedy := hclfile.Suggest(name, metricNames())
		if now := metricsRenamed[name]; now != "" {
			remedy = fmt.Sprintf("the name is now %q", now)
		}
		b.LabelProblem(fmt.Sprintf("unknown metric %q", name), remedy)
	case spec.Family != "" && strings.HasSuffix(name, "_max"):
		b.LabelProblem(fmt.Sprintf("%s is a single sample, which is too noisy for a limit", name), "limit "+spec.Family+"_p99 or another percentile")
	case kind == Floor && spec.Better == result.Lower && !spec.Promised:
		b.LabelProblem(fmt.Sprintf("%s is better when lower, so a floor on it protects nothing", name), instead(b, Ceiling))
	case kind == Ceiling && spec.Better == result.Higher:
		b.LabelProblem(fmt.Sprintf("%s is better when higher, so a ceiling on it protects nothing", name), instead(b, Floor))
	default:
		return spec, true
	}
	return spec, false
}

func instead(b *hclfile.Block, kind Kind) string {
	if b.Type() == limitName {
		return "write " + boundNames[kind] + " instead of " + boundNames[opposite[kind]]
	}
	return fmt.Sprintf("write %s %q", kind, b.Label())
}

// readObserved reads observed, which is 0 only if zero is true. observed and on require each other.
// bounded reports whether the limit's value is known.
func readObserved(b *hclfile.Block, l Limit, bounded, zero bool) float64 {
	observed, given := b.Number("observed", hclfile.NumberSpec{Example: "180000", AllowZero: zero})
	switch {
	case b.Has("observed") && !b.Has("on"):
		b.AttrProblem("observed", "observed needs on", `name the machine: on = "2 cores, shared"`)
	case b.Has("on") && !b.Has("observed"):
		b.AttrProblem("on", "on needs observed", "add the figure measured there: observed = 180000")
	case given && bounded && l.Kind == Floor && observed < l.Value:
		b.AttrProblem("observed", "observed is below the floor, so the floor was never met", "lower min, or correct observed")
	case given && bounded && l.Kind == Ceiling && observed > l.Value:
		b.AttrProblem("observed", "observed is above the ceiling, so the ceiling was never met", "raise max, or correct observed")
	}
	return observed
}
