package scenario

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Limit is a bound on a metric for each run of the scenario, like a floor or a ceiling of a
// baseline. This package does not know the metrics; the caller of LoadChecked can check them.
// Limits are not settings, because they do not change what is measured.
type Limit struct {
	Metric string `json:"metric"`
	// Min is a floor and Max a ceiling. OfBaseline bounds the ratio to the figure of the baseline
	// build, which is measured in the same run: a floor if higher values of the metric are better,
	// else a ceiling. Exactly one of the three is set. It is finite and not negative.
	Min        *float64 `json:"min,omitempty"`
	Max        *float64 `json:"max,omitempty"`
	OfBaseline *float64 `json:"of_baseline,omitempty"`
	// Point is a name of Scenario.Points. "" means all points without a specific limit.
	Point string `json:"point,omitempty"`
	// RelativeToPoint is the point whose figure is multiplied by the bound to get the limit. ""
	// means that the bound is the limit.
	RelativeToPoint string `json:"relative_to_point,omitempty"`
	// Workload is set only if there are several workloads. "" means all of them together.
	Workload string `json:"workload,omitempty"`
	Because  string `json:"because"` // never empty
	// Observed is the figure that was measured when the limit was chosen, and On the machine. They
	// are 0 and "" if not stated.
	Observed   float64 `json:"observed,omitempty"`
	On         string  `json:"on,omitempty"`
	Unobserved string  `json:"unobserved,omitempty"` // why there is no such figure; "" if On is set
	Where      string  `json:"where"`                // path:line:column of its block
}

// Name returns the name of the limited figure: the point, the workload and the metric. A ratio to
// the baseline build has a distinct name. The names are unique within a scenario.
func (l Limit) Name() string {
	name := l.Metric
	for _, part := range []string{l.Workload, l.Point} {
		if part != "" {
			name = part + ": " + name
		}
	}
	if l.OfBaseline != nil {
		name += " of the baseline build"
	}
	return name
}

// Bound formats the bound as text: "at least 20000", or "at most 1.5 times that of shards=1".
func (l Limit) Bound() string {
	if l.OfBaseline != nil {
		return strconv.FormatFloat(*l.OfBaseline, 'f', -1, 64) + " times that of the baseline build"
	}
	words, value := "at least ", l.Min
	if l.Max != nil {
		words, value = "at most ", l.Max
	}
	if value == nil {
		return "no bound"
	}
	words += strconv.FormatFloat(*value, 'f', -1, 64)
	if l.RelativeToPoint != "" {
		words += " times that of " + l.RelativeToPoint
	}
	return words
}

// LimitCheck notes those problems of a limit block that depend on the metrics, which this package
// does not know. A problem with the same place and text as one from this package is reported once.
type LimitCheck func(b *hclfile.Block)

var limitBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: LimitAttributes("min", "max")},
	Label: "metric", Example: `limit "cycles_per_s" { min = 20000  because = "..." }`,
}

// limitTerms has the attributes of a limit that scenarios and baselines share.
var limitTerms = table[Limit]{
	text(func(l *Limit) *string { return &l.Point }, hclfile.TextSpec{MaxBytes: 500, Example: "shards=4"}, attribute[Limit]{name: "point"}),
	text(func(l *Limit) *string { return &l.RelativeToPoint }, hclfile.TextSpec{MaxBytes: 500, Example: "shards=1"}, attribute[Limit]{name: "relative_to_point"}),
	text(func(l *Limit) *string { return &l.Workload }, hclfile.TextSpec{MaxBytes: 64, Example: "main"}, attribute[Limit]{name: "workload"}),
	{name: "observed", read: func(b *hclfile.Block, l *Limit) {
		l.Observed, _ = b.Number("observed", hclfile.NumberSpec{Example: "180000", AllowZero: true})
	}},
	text(func(l *Limit) *string { return &l.On }, hclfile.TextSpec{MaxBytes: 200, Example: "2 cores, shared"}, attribute[Limit]{name: "on"}),
	text(func(l *Limit) *string { return &l.Unobserved }, hclfile.TextSpec{MaxBytes: 200, Example: "the published run has no such figure"}, attribute[Limit]{name: "unobserved"}),
	text(func(l *Limit) *string { return &l.Because }, hclfile.TextSpec{MaxBytes: 500, Required: true, Example: "why the limit is what it is"}, attribute[Limit]{name: "because"}),
}

// LimitAttributes returns the attributes of a block that bounds a metric by the attributes bounds.
func LimitAttributes(bounds ...string) []string {
	return slices.Concat(bounds, []string{"of_baseline"}, limitTerms.names())
}

// ReadLimitTerms reads the attributes of a limit that scenarios and baselines share.
func ReadLimitTerms(b *hclfile.Block) (l Limit) {
	limitTerms.read(b, &l)
	return l
}

// readLimits reads each limit "METRIC" { ... }. The points of the scenario must be complete. check
// may be nil.
func readLimits(b *hclfile.Block, s *Scenario, check LimitCheck) []Limit {
	var limits []Limit
	seen := map[string]string{}
	for _, block := range b.Blocks("limit", limitBlock) {
		l := readLimit(block)
		if check != nil {
			check(block)
		}
		checkNames(block, l, s)
		side := l.Name() + " max"
		if l.Min != nil {
			side = l.Name() + " min"
		}
		if first, twice := seen[side]; twice {
			block.LabelProblem(l.Name()+" has two limits", "the first is at "+first+"; keep one of the two")
		}
		seen[side] = block.Where()
		limits = append(limits, l)
	}
	return limits
}

// readLimit reads the attributes and checks them as far as possible without knowledge of the
// metric.
func readLimit(b *hclfile.Block) Limit {
	l := ReadLimitTerms(b)
	l.Metric, l.Where = b.Label(), b.Where()
	for name, into := range map[string]**float64{"min": &l.Min, "max": &l.Max, "of_baseline": &l.OfBaseline} {
		if value, ok := b.Number(name, hclfile.NumberSpec{AllowZero: true}); ok {
			*into = &value
		}
	}
	switch {
	case b.Has("min") && b.Has("max"):
		b.AttrProblem("max", fmt.Sprintf("%s has both min and max, but each metric has only one good direction", b), "keep one of the two")
	case b.Has("of_baseline") && (b.Has("min") || b.Has("max")):
		b.AttrProblem("of_baseline", fmt.Sprintf("%s has both of_baseline and min or max", b), "write two blocks, one for each bound")
	case !b.Has("min") && !b.Has("max") && !b.Has("of_baseline"):
		b.Problem(fmt.Sprintf("%s has neither min nor max nor of_baseline", b), "add min for a metric that is better when higher, max for one that is better when lower, of_baseline for a ratio")
	}
	return l
}

func checkNames(b *hclfile.Block, l Limit, s *Scenario) {
	var points, workloads []string
	for _, p := range s.Points {
		points = append(points, p.Name)
	}
	for _, w := range s.Workloads {
		workloads = append(workloads, w.Name)
	}
	for _, named := range []struct{ attribute, name string }{{"point", l.Point}, {"relative_to_point", l.RelativeToPoint}} {
		switch {
		case named.name == "" || slices.Contains(points, named.name):
		case len(points) == 0:
			b.AttrProblem(named.attribute, "the scenario has no sweep, so it has no points", "remove "+named.attribute)
		default:
			b.AttrProblem(named.attribute, fmt.Sprintf("there is no point %.80q", named.name), hclfile.Suggest(named.name, points))
		}
	}
	switch {
	case l.Workload == "" || len(workloads) > 1 && slices.Contains(workloads, l.Workload):
	case len(workloads) == 1:
		b.AttrProblem("workload", "the scenario has a single workload, so its figures are those of the scenario", "remove workload")
	case len(workloads) > 1:
		b.AttrProblem("workload", fmt.Sprintf("there is no workload %.80q", l.Workload), hclfile.Suggest(l.Workload, workloads))
	}
}
