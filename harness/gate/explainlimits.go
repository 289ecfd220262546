package gate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// ExplainedLimits describes the limits of one scenario: those of its baseline, those in its file,
// and the implied ones.
type ExplainedLimits struct {
	Scenario string `json:"scenario"`
	Baseline string `json:"baseline,omitempty"` // the file; "" without a baseline
	// Configuration is the configuration hash in the baseline, or "". Present is the hash of the
	// scenario's current file, or "" without a file.
	Configuration string `json:"configuration,omitempty"`
	Present       string `json:"configuration_present,omitempty"`
	File          string `json:"file,omitempty"` // of the scenario; "" if not found
	// Matches reports whether the baseline fits the current file.
	Matches  bool             `json:"matches"`
	Limits   []ExplainedLimit `json:"limits"`
	Problems []string         `json:"problems,omitempty"` // limits that cannot be judged
}

// ExplainedLimit is one limit with the context that a reader needs.
type ExplainedLimit struct {
	Metric   string        `json:"metric"`
	Kind     Kind          `json:"kind"`
	Point    string        `json:"point,omitempty"`
	Workload string        `json:"workload,omitempty"`
	Limit    float64       `json:"limit"` // in Unit, or a multiple if Relative
	Unit     string        `json:"unit"`
	Better   result.Better `json:"better"`
	Meaning  string        `json:"meaning"`
	Relative bool          `json:"relative"`
	Of       string        `json:"of,omitempty"` // the reference of a relative limit
	// OfBaseline reports whether the reference is the baseline build's figure.
	OfBaseline bool     `json:"of_baseline,omitempty"`
	Observed   *float64 `json:"observed,omitempty"`
	On         string   `json:"on,omitempty"`
	// Unobserved is the file's reason for a missing observed figure, or "".
	Unobserved string `json:"unobserved,omitempty"`
	// MarginPercent is the change for the worse, in percent of the observed figure, that reaches
	// the limit; nil if no figure above 0 was observed.
	MarginPercent *float64 `json:"margin_percent,omitempty"`
	Because       string   `json:"because"`
	Where         string   `json:"where,omitempty"` // path:line:column of its block; "" if implied
	Implied       bool     `json:"implied"`         // applies to every scenario without a block
}

// All returns the baselines sorted by scenario name.
func (b *Baselines) All() []Baseline {
	return slices.SortedFunc(maps.Values(b.scenarios), func(x, y Baseline) int { return cmp.Compare(x.Scenario, y.Scenario) })
}

// ExplainLimits describes the limits of a scenario. b is its baseline, or the zero value without
// one. s is the scenario from its file, or nil without a file.
func ExplainLimits(b Baseline, s *scenario.Scenario) ExplainedLimits {
	e := ExplainedLimits{Scenario: b.Scenario, Baseline: b.File, Configuration: b.Configuration, Limits: []ExplainedLimit{}}
	var own []carriedLimit
	if s != nil {
		e.Scenario, e.File, e.Present = s.Name, s.File, s.Configuration()
		own, e.Problems = carried(&result.Result{Manifest: result.Manifest{Scenario: *s}})
	}
	e.Matches = s != nil && (b.Configuration == "" || b.Configuration == e.Present)
	places := maps.Clone(b.where)
	all, twice := joined(b, own)
	e.Problems = append(e.Problems, twice...)
	for _, l := range own {
		if places == nil {
			places = map[string]string{}
		}
		if _, is := places[l.name()]; !is {
			places[l.name()] = l.where
		}
	}
	for _, l := range withImplied(all, s != nil && scenarioReads(s)) {
		where, written := places[l.name()]
		x := explainLimit(l)
		x.Where, x.Implied = where, !written
		e.Limits = append(e.Limits, x)
	}
	return e
}

func explainLimit(l Limit) ExplainedLimit {
	spec, _ := result.Lookup(l.Metric)
	x := ExplainedLimit{
		Metric: l.Metric, Kind: l.Kind, Point: l.Point, Workload: l.Workload, Limit: l.Value, Unit: spec.Unit, Better: spec.Better,
		Meaning: spec.Meaning(), Because: l.Because, On: l.On, Unobserved: l.Unobserved,
	}
	if l.OfBaseline {
		x.Relative, x.OfBaseline, x.Of = true, true, "the figure of the baseline build, which prony guard measures in the same run"
	}
	if l.RelativeToPoint != "" {
		x.Relative, x.Of = true, "the figure at the point "+l.RelativeToPoint+" of the same run"
	}
	if l.On == "" {
		return x
	}
	x.Observed = &l.Observed
	if l.Observed > 0 {
		margin := 100 * (1 - l.Value/l.Observed)
		if l.Kind == Ceiling {
			margin = -margin
		}
		x.MarginPercent = &margin
	}
	return x
}

// Name names the limited metric as judgements do.
func (x ExplainedLimit) Name() string {
	name := at(x.Point) + at(x.Workload) + x.Metric
	if x.OfBaseline {
		name += " of the baseline build"
	}
	return name
}

// Bound describes the limit's requirement as a phrase.
func (x ExplainedLimit) Bound() string {
	side := map[Kind]string{Floor: "at least", Ceiling: "at most"}[x.Kind]
	figure := render.Digits(x.Limit, 4)
	switch spec, _ := result.Lookup(x.Metric); {
	case x.Relative:
		return fmt.Sprintf("%s %s times %s: relative, so independent of the host's speed", side, figure, x.Of)
	case spec.OfLedger():
		return fmt.Sprintf("%s %s: a sum over all rounds", side, figure)
	default:
		return fmt.Sprintf("%s %s %s: absolute", side, figure, x.Unit)
	}
}

// Margin describes the change of the observed figure that breaks the limit, or returns "" if
// nothing was observed.
func (x ExplainedLimit) Margin() string {
	if x.Observed == nil {
		return ""
	}
	if x.MarginPercent == nil {
		return "0 was observed: every figure above the limit breaks it"
	}
	if x.Kind == Floor {
		return fmt.Sprintf("a decrease of more than %s %% from the observed figure breaks it", render.Digits(*x.MarginPercent, 3))
	}
	return fmt.Sprintf("an increase of more than %s %% from the observed figure breaks it", render.Digits(*x.MarginPercent, 3))
}
