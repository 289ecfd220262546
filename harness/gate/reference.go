package gate

import (
	"fmt"
	"math"
	"slices"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// readRelativeTo reads relative_to = "REFERENCE", which makes the limit a ratio to what the reference measured in the same run.
func readRelativeTo(b *hclfile.Block, metric string, spec result.Spec) string {
	name := b.Text("relative_to", hclfile.TextSpec{MaxBytes: 64, Example: scenario.ReferenceEcho})
	if name == "" {
		return ""
	}
	_, comparable := (&result.Reference{}).ReferenceFigure(metric)
	switch {
	case !slices.Contains(scenario.ReferenceNames(), name):
		b.AttrProblem("relative_to", fmt.Sprintf("unknown reference %q", name), hclfile.Suggest(name, scenario.ReferenceNames()))
	case spec.Name == "": // an unknown metric has its own problem
	case !comparable:
		b.AttrProblem("relative_to", metric+" is neither a rate nor a CPU time per cycle, and references have no other figures", "remove relative_to")
	case b.Has("relative_to_point"):
		b.AttrProblem("relative_to", "a limit is relative to a reference or to a point", "remove relative_to or relative_to_point")
	}
	return name
}

// readReferencePerSMax reads reference_per_s_max, or returns 0 if the block does not have it.
func readReferencePerSMax(b *hclfile.Block) float64 {
	const name = "reference_per_s_max"
	perS, given := b.Number(name, hclfile.NumberSpec{Example: "6500"})
	if given && !b.Has("relative_to") {
		b.AttrProblem(name, "the limit is relative to no reference", "add relative_to, or remove "+name)
	}
	return perS
}

// unreferenced returns a sentence for each limit that is relative to a reference that the scenario does not ask for.
func (b Baseline) unreferenced(s *scenario.Scenario) (all []string) {
	for _, l := range b.Limits {
		if l.RelativeTo != "" && !slices.Contains(s.References, l.RelativeTo) {
			all = append(all, fmt.Sprintf("%s: the %s on %s needs a reference that the scenario %s does not ask for: add %q to the references of the scenario",
				b.where[l.name()], l.Kind, l.name(), s.Name, l.RelativeTo))
		}
	}
	return all
}

// outrun returns a sentence if the reference of r was faster than the limit allows, and "" otherwise. A rate that waits for the reference on a slow
// host waits for something else on one whose reference is fast, so that their ratio says nothing there.
func (l Limit) outrun(r *result.Result) string {
	if l.ReferencePerSMax == 0 {
		return ""
	}
	for _, of := range r.References {
		if of.Name == l.RelativeTo && of.PerS.N > 0 && of.PerS.Median > l.ReferencePerSMax {
			return fmt.Sprintf("the reference %s makes %s a second, and the %s is for %s at most",
				of.Name, render.Digits(of.PerS.Median, 4), l.Kind, render.Digits(l.ReferencePerSMax, 4))
		}
	}
	return ""
}

// reference returns what the limit's reference measured in a run. It fails if the run did not measure it.
func (l Limit) reference(r *result.Result) (float64, error) {
	for _, of := range r.References {
		if of.Name != l.RelativeTo {
			continue
		}
		figure, ok := of.ReferenceFigure(l.Metric)
		if !ok || figure.N <= 0 || !(figure.Median > 0) || math.IsInf(figure.Median, 0) {
			return 0, fmt.Errorf("the run measured no %s above 0, which the %s is relative to", l.RelativeTo, l.Kind)
		}
		return figure.Median, nil
	}
	return 0, fmt.Errorf("the run did not measure the reference %s, which the %s is relative to: write references = [%q] in the scenario",
		l.RelativeTo, l.Kind, l.RelativeTo)
}

// relate makes a limit that is a ratio to a reference a figure of this run.
func (f *Finding) relate(l *Limit, r *result.Result) error {
	reference, err := l.reference(r)
	if err != nil {
		return err
	}
	f.RelativeTo, f.Ratio, f.Reference = l.RelativeTo, l.Value, reference
	l.Value *= reference
	f.Limit = l.Value
	return nil
}

// ofReference says, behind a limit, how the limit comes from a reference; "" if the limit is not relative to one.
func (f *Finding) ofReference() string {
	if f.RelativeTo == "" {
		return ""
	}
	figure := render.Digits(f.Reference, 4) + " a second"
	if f.Kind == Ceiling { // of the figures that a limit relates to a reference, only CPU times have ceilings
		figure = render.Digits(f.Reference, 4) + " us of CPU time each"
	}
	return fmt.Sprintf(", which is %s of the reference %s (%s)", render.Digits(f.Ratio, 4), f.RelativeTo, figure)
}

// margin returns by how large a part of a limit a value keeps it; nil for a limit of 0.
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

// Limits returns the limits of the report as a document of runs has them.
func (r *Report) Limits() []result.JudgedLimit {
	var all []result.JudgedLimit
	for _, f := range r.Findings {
		all = append(all, result.JudgedLimit{
			Metric: f.Metric, Point: f.Point, Workload: f.Workload, Kind: string(f.Kind), Limit: f.Limit,
			RelativeTo: f.RelativeTo, Ratio: f.Ratio, Reference: f.Reference, Value: f.Value, Margin: f.Margin,
			HostClass: f.HostClass, Judged: f.Judged, OK: f.OK,
		})
	}
	return all
}
