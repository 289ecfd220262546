package gate

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// Change is a difference between the observation stated in a limit and the observation of a run.
type Change struct {
	// Limit is like "ceiling cycle_latency_ms_p99", with the limit's point, workload and reference
	// point.
	Limit string
	From  string // the file's observation; "" if it states none
	To    string // the run's observation
	// Evidence is the basis of To: the number of rounds and their range. It is "" for a
	// configuration, and if the run has no figure.
	Evidence string
	// Where is the place of a block that a person must edit; "" if Propose or ProposeOwn edits it.
	Where string
}

// Propose updates src, the text of a file of baselines, so that each limit of r's scenario states
// what r observed. It returns the new text and the changes. If r has no figure for a limit or
// breaks it, the limit states this in its attribute unobserved. Propose preserves the limits and
// all reasons. It skips limits of 0, because 0 is the only value that they allow, and ratios to the
// baseline build. Propose fails if src is not a valid file, writes several attributes on one line,
// or has no baseline for the scenario.
func Propose(src []byte, file string, b Baseline, r *result.Result) (text []byte, changes []Change, err error) {
	parsed, problems := hclwrite.ParseConfig(src, file, hcl.InitialPos)
	if problems.HasErrors() {
		return nil, nil, fmt.Errorf("read %s, which must have one attribute on a line: %w", file, problems)
	}
	baseline := parsed.Body().FirstMatchingBlock("baseline", []string{b.Scenario})
	if baseline == nil {
		return nil, nil, fmt.Errorf("%s has no baseline %q", file, b.Scenario)
	}
	blocks := map[Kind][]*hclwrite.Block{}
	for _, block := range baseline.Body().Blocks() {
		blocks[Kind(block.Type())] = append(blocks[Kind(block.Type())], block)
	}
	next := map[Kind]int{}
	for _, l := range b.Limits { // floors before ceilings, each in file order
		i := next[l.Kind]
		next[l.Kind]++
		if i >= len(blocks[l.Kind]) {
			return nil, nil, fmt.Errorf("%s has fewer limits than when it was first read: the file has changed", file)
		}
		if l.Value == 0 || l.OfBaseline {
			continue
		}
		if change, changed := observe(blocks[l.Kind][i].Body(), l, b.Limits, r); changed {
			changes = append(changes, change)
		}
	}
	if len(changes) == 0 {
		return src, nil, nil
	}
	return hclwrite.Format(parsed.Bytes()), changes, nil
}

// proposal returns the change of a limit's observation and the value that the run observed. err is
// the reason if the run has no valid value.
func proposal(l Limit, limits []Limit, r *result.Result) (change Change, value float64, err error) {
	value, evidence, err := observed(l, limits, r)
	change = Change{Limit: fmt.Sprintf("%s %s", l.Kind, l.name()), Evidence: evidence}
	day := r.Started.UTC().Format(time.DateOnly)
	if err == nil && (l.Kind == Floor && value < l.Value || l.Kind == Ceiling && value > l.Value) {
		err = fmt.Errorf("%s, which breaks this limit", digits(value))
	}
	if err != nil {
		change.To = fmt.Sprintf("the published run of %s has %s", day, err)
	} else {
		change.To = digits(value) + " on " + machineOf(r) + ", " + day
	}
	switch {
	case l.Unobserved != "":
		change.From = l.Unobserved
	case l.On != "":
		change.From = digits(l.Observed) + " on " + l.On
	}
	return change, value, err
}

func observe(block *hclwrite.Body, l Limit, limits []Limit, r *result.Result) (change Change, changed bool) {
	change, value, err := proposal(l, limits, r)
	if change.From == change.To {
		return change, false
	}
	because := block.GetAttribute("because").Expr().BuildTokens(nil)
	for _, name := range []string{"observed", "on", "unobserved", "because"} {
		block.RemoveAttribute(name)
	}
	if err != nil {
		block.SetAttributeValue("unobserved", cty.StringVal(change.To))
	} else {
		block.SetAttributeRaw("observed", hclwrite.Tokens{{Type: hclsyntax.TokenNumberLit, Bytes: []byte(digits(value))}})
		block.SetAttributeValue("on", cty.StringVal(machineOf(r)+", "+r.Started.UTC().Format(time.DateOnly)))
	}
	block.SetAttributeRaw("because", because)
	return change, true
}

// observed returns a run's figure for a limit. If the limit applies to several points, it returns
// the figure closest to breaking the limit. For a limit relative to another point, the figure is a
// multiple of the figure at that point. evidence states the number of rounds with the figure and
// its range.
func observed(l Limit, limits []Limit, r *result.Result) (value float64, evidence string, err error) {
	var found []observation
	add := func(metrics map[string]result.Metric, workloads []result.Workload) {
		m, has := of(l, metrics, workloads)[l.Metric]
		if !has || m.N <= 0 {
			return
		}
		value := m.Median
		if spec, _ := result.Lookup(l.Metric); spec.Bounded {
			value = max(0, m.High)
		}
		if finite(value) {
			found = append(found, observation{value, m})
		}
	}
	if len(r.Points) == 0 && l.Point == "" {
		add(r.Metrics, r.Workloads)
	}
	for _, p := range r.Points {
		if l.holdsAt(p.Name, limits) {
			add(p.Metrics, p.Workloads)
		}
	}
	if len(found) == 0 {
		return 0, "", errors.New("no such figure")
	}
	nearest := found[0]
	for _, f := range found[1:] {
		if l.Kind == Floor && f.value < nearest.value || l.Kind == Ceiling && f.value > nearest.value {
			nearest = f
		}
	}
	value, evidence = nearest.value, nearest.evidence(len(found))
	if l.RelativeToPoint != "" {
		reference, err := l.relativeTo(r)
		if err != nil {
			return 0, "", errors.New("no figure to compare with")
		}
		value /= reference
	}
	return roundTo(value), evidence, nil
}

type observation struct {
	value float64
	of    result.Metric
}

// evidence describes the basis of a figure that was selected as the nearest to the limit from the
// given number of points.
func (f observation) evidence(points int) string {
	words := fmt.Sprintf("%s in %s, %s to %s", digits(roundTo(f.of.Median)), render.Plural(f.of.N, "round"),
		digits(roundTo(f.of.Low)), digits(roundTo(f.of.High)))
	if points > 1 {
		words += fmt.Sprintf("; the nearest to the limit of %d points", points)
	}
	return words
}

// roundTo rounds to four significant digits, more than the precision of a measurement.
func roundTo(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

func digits(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func machineOf(r *result.Result) string {
	h := r.Manifest.Host
	return h.CPUModel + ", " + render.Plural(h.CPUs, "CPU")
}
