package gate

import (
	"fmt"
	"math"
	"slices"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// Report is the judgement of one result against its baseline.
type Report struct {
	Scenario string         `json:"scenario"`
	Run      string         `json:"run"`
	Verdict  result.Verdict `json:"verdict"`
	// Reasons explains in sentences why the verdict is not pass.
	Reasons []string `json:"reasons,omitempty"`
	// Warnings are caveats that do not change the verdict.
	Warnings []string `json:"warnings,omitempty"`
	// Findings contains one entry for each limit: first the limits of the baseline in its order,
	// then the implied limits that the baseline does not name. For a run with a sweep, it contains
	// one entry for each point that the limit applies to.
	Findings []Finding `json:"findings"`
	// Where describes, from the result's profiles, where the time went. It is set only if the
	// verdict is regressed.
	Where []string `json:"where,omitempty"`
}

// Finding is the judgement of one limit.
type Finding struct {
	Metric   string  `json:"metric"`
	Point    string  `json:"point,omitempty"`    // of a run with a sweep
	Workload string  `json:"workload,omitempty"` // of a scenario with several
	Kind     Kind    `json:"kind"`
	Limit    float64 `json:"limit"`
	// OfBaseline is the measured ratio to the baseline build, if Limit is a limit on this ratio. It
	// is nil if Limit is absolute or no baseline build was measured.
	OfBaseline *result.BaselineRatio `json:"of_baseline,omitempty"`
	// Margin is the relative distance between the limit and the value or ratio; it is negative if
	// the limit is violated. It is nil if there is no value or the limit is 0.
	Margin *float64 `json:"margin,omitempty"`
	// Value is the median over rounds. For a count of tasks at fault it is the sum, and for a
	// metric with bounds the upper bound. It is nil if the result contains no finite value.
	Value    *float64 `json:"value"`
	Observed float64  `json:"observed,omitempty"`
	On       string   `json:"on,omitempty"`
	Because  string   `json:"because"`
	// Judged is false if the ledger does not balance, which makes the figure meaningless, and for a
	// ratio without a measured baseline build.
	Judged bool `json:"judged"`
	OK     bool `json:"ok"`
	// Inconclusive reports that chance may explain the broken limit.
	Inconclusive bool   `json:"inconclusive,omitempty"`
	Sentence     string `json:"sentence"`

	noBaseline bool // not judged because no baseline build was measured
	undecided  bool // more pairs of measurements may decide the limit
	ofWork     bool // a counter of fixed work
	unmeasured bool // the fixed work failed
}

// OfWork reports whether the finding judges a counter of fixed work.
func (f *Finding) OfWork() bool { return f.ofWork }

// Check judges r against the baseline of its scenario, the limits that its scenario contained when
// it ran, and the implied ceilings: no task is lost, duplicated or corrupted, and no read returns a
// wrong answer. If neither a baseline nor limits in the scenario exist, it judges only the implied
// ceilings and adds a warning.
//
// A value beyond a limit breaks it. So does a metric that is missing, zero, negative, infinite, not
// a number or measured in no round; zero is valid for some metrics, such as a count of tasks at
// fault. In a run with a sweep, a limit that names no point applies to each point, except where
// another limit of its kind names the point. A limit that names a point that the run lacks is
// broken.
//
// A broken limit makes the verdict regressed, and tasks at fault make it incorrect. A metric with
// one-sided bounds is judged by its bounds; if these cannot decide, the verdict is inconclusive. If
// the verdict stored in the result is not pass, the report has that verdict in addition to the
// findings. If the stored verdict is incorrect, only the counts of tasks and reads at fault are
// judged, because all other figures are meaningless.
//
// The verdict is misconfigured in three cases: the result has another version or an unknown
// verdict; its configuration differs from the baseline's (its other limits are still judged); its
// scenario contains a limit that the baseline contains too or that names an unknown metric.
func Check(b *Baselines, r *result.Result) Report { return CheckBeside(b, r, nil) }

// CheckBeside is Check with a measurement of the baseline build. It judges limits on the ratio to
// the baseline build (of_baseline) by the pairs of both builds, and counters by their fixed work.
// If beside is nil, it leaves these limits unjudged and adds a warning.
func CheckBeside(b *Baselines, r *result.Result, beside *Beside) Report {
	if r == nil {
		return Report{Verdict: result.Misconfigured, Reasons: []string{"there is no result to check"}, Findings: []Finding{}}
	}
	report := Report{Scenario: r.Scenario, Run: r.Run, Findings: []Finding{}}
	refuse := func(format string, args ...any) Report {
		report.Verdict = result.Worst(result.Misconfigured, r.Verdict)
		report.Reasons = append(report.Reasons, fmt.Sprintf(format, args...))
		return report
	}
	if r.Version < 1 || r.Version > result.Version {
		return refuse("the result has version %d and this program judges version %d: run the scenario again", r.Version, result.Version)
	}
	if !r.Verdict.Known() {
		return refuse("the result's own verdict %q is unknown: run the scenario again", r.Verdict)
	}
	report.Reasons = append(report.Reasons, r.Reasons...)
	baseline, found := b.For(r.Scenario)
	own, unfit := carried(r)
	if !found && len(own)+len(unfit) == 0 && !hasLedger(r) && r.Verdict != result.Invalid {
		return refuse("scenario %q has no baseline%s and the result no ledger, so nothing was judged", r.Scenario, b.place())
	}
	if !found && len(own)+len(unfit) == 0 {
		report.Warnings = append(report.Warnings, fmt.Sprintf(
			"scenario %q has no baseline%s: only lost, duplicated and corrupted tasks were judged", r.Scenario, b.place()))
	}
	if r.Verdict != result.Pass && len(r.Reasons) == 0 {
		report.Reasons = append(report.Reasons, fmt.Sprintf("the run's own verdict is %s", r.Verdict))
	}
	misfit := baseline.misfit(&r.Manifest.Scenario)
	switch {
	case misfit != "":
		report.Reasons = append(report.Reasons, misfit)
		baseline.Limits = nil
	case found && baseline.Configuration == "":
		report.Warnings = append(report.Warnings, fmt.Sprintf(
			"the baseline of %q does not name its configuration: add it with prony baseline propose --write", r.Scenario))
	}
	limits, twice := joined(baseline, own)
	unfit = append(unfit, twice...)
	report.Reasons = append(report.Reasons, unfit...)
	report.Verdict = r.Verdict
	findings := judgeAll(limitsOf(limits, r), r, beside)
	ofWork, workWarnings := judgeWork(beside)
	report.Warnings = append(report.Warnings, workWarnings...)
	for _, f := range append(findings, ofWork...) {
		report.Findings = append(report.Findings, f)
		if f.OK || !f.Judged {
			continue
		}
		report.Reasons = append(report.Reasons, f.Sentence)
		if r.Verdict == result.Pass {
			report.Verdict = result.Worst(report.Verdict, f.verdict())
		}
		if ofLedger(f.Metric) && f.Value != nil && *f.Value > 0 {
			report.Verdict = result.Incorrect
		}
	}
	if slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.noBaseline }) {
		report.Warnings = append(report.Warnings, "no baseline build was measured with this run, so its speed was not compared")
	}
	if misfit != "" || len(unfit) > 0 {
		report.Verdict = result.Worst(result.Misconfigured, report.Verdict)
	}
	if report.Verdict == result.Regressed {
		report.Where = report.whereOf(r)
	}
	return report
}

// Diagnose sets Where from the profiles of another run of the same scenario, for a judged run
// without profiles.
func (r *Report) Diagnose(profiled *result.Result) { r.Where = r.whereOf(profiled) }

func (r *Report) whereOf(run *result.Result) []string {
	return append(commits(run.Rounds), where(profilesOf(run, r.Findings), locksOf(run, r.Findings))...)
}

func (f *Finding) verdict() result.Verdict {
	switch {
	case f.unmeasured:
		return result.Invalid
	case f.Inconclusive:
		return result.Inconclusive
	}
	return result.Regressed
}

// profilesOf returns the profiles that may explain the broken limits. In a run with a sweep it
// returns the profiles of the points with broken limits, each with the name of its point.
func profilesOf(r *result.Result, findings []Finding) []namedProfile {
	var profiles []namedProfile
	for _, p := range r.Profiles {
		if name, broken := brokenAt(r, findings, p.Point); broken {
			profiles = append(profiles, namedProfile{at(name), p})
		}
	}
	return profiles
}

// locksOf returns, like profilesOf, the locks that may explain the broken limits: the locks for
// which goroutines wait at least 5 % of the time per cycle. It skips locks inside the runtime,
// because their profile shows neither holder nor waiter.
func locksOf(r *result.Result, findings []Finding) []namedLock {
	var locks []namedLock
	for _, l := range r.Locks {
		if part, _ := r.PartOfCycle(l); l.Kind == "runtime" || part < causePartMin {
			continue
		}
		if name, broken := brokenAt(r, findings, l.Point); broken {
			locks = append(locks, namedLock{at(name), l})
		}
	}
	return locks
}

func brokenAt(r *result.Result, findings []Finding, number int) (name string, broken bool) {
	for _, point := range r.Points {
		if point.Number == number {
			name = point.Name
		}
	}
	return name, slices.ContainsFunc(findings, func(f Finding) bool {
		return !f.OK && f.Judged && (f.Point == name || f.Point == "")
	})
}

func (b *Baselines) place() string {
	if b == nil {
		return ""
	}
	return " in " + b.dir
}

func ofLedger(metric string) bool {
	spec, known := result.Lookup(metric)
	return known && spec.OfLedger()
}

// judged reports whether a limit is judged. If the ledger does not balance, only limits on the
// ledger's counts are judged.
func judged(l Limit, r *result.Result) bool {
	return r.Verdict != result.Incorrect || ofLedger(l.Metric)
}

func judgeAll(limits []Limit, r *result.Result, beside *Beside) []Finding {
	var findings []Finding
	for _, l := range limits {
		if l.OfBaseline && judged(l, r) {
			findings = append(findings, judgeRatio(l, beside))
			continue
		}
		if len(r.Points) == 0 && l.Point == "" || ofLedger(l.Metric) {
			findings = append(findings, judge(l, "", of(l, r.Metrics, r.Workloads), r))
			continue
		}
		named := l.Point == ""
		for _, p := range r.Points {
			if l.holdsAt(p.Name, limits) {
				findings = append(findings, judge(l, p.Name, of(l, p.Metrics, p.Workloads), r))
				named = true
			}
		}
		if !named {
			findings = append(findings, judge(l, l.Point, nil, r))
		}
	}
	return findings
}

// holdsAt reports whether a limit applies to a point. A limit that names a point applies only
// there. A limit that names no point applies to every point that no other limit of its kind in
// limits names.
func (l Limit) holdsAt(point string, limits []Limit) bool {
	own := func(o Limit) bool {
		return o.Metric == l.Metric && o.Kind == l.Kind && o.OfBaseline == l.OfBaseline && o.Workload == l.Workload && o.Point == point
	}
	return l.Point == point || l.Point == "" && !slices.ContainsFunc(limits, own)
}

// of returns the metrics that a limit applies to: those of the workload that the limit names, or
// all metrics of the load if it names no workload. It returns nil if the workload does not exist.
func of(l Limit, all map[string]result.Metric, workloads []result.Workload) map[string]result.Metric {
	if l.Workload == "" {
		return all
	}
	for _, w := range workloads {
		if w.Name == l.Workload {
			return w.Metrics
		}
	}
	return nil
}

func at(point string) string {
	if point == "" {
		return ""
	}
	return point + ": "
}

func judge(l Limit, point string, metrics map[string]result.Metric, r *result.Result) Finding {
	name := at(point) + at(l.Workload) + l.Metric
	spec, _ := result.Lookup(l.Metric)
	f := Finding{
		Metric: l.Metric, Point: point, Workload: l.Workload, Kind: l.Kind, Limit: l.Value, Observed: l.Observed, On: l.On, Because: l.Because,
		Judged: judged(l, r),
	}
	if !f.Judged {
		f.Sentence = name + " is not judged: the ledger does not balance, so the figure is meaningless"
		return f
	}
	if l.RelativeToPoint != "" {
		reference, err := l.relativeTo(r)
		if err != nil {
			f.Sentence = fmt.Sprintf("%s can't be judged: %v: %s", name, err, l.Because)
			return f
		}
		l.Value *= reference
		f.Limit = l.Value
	}
	m, found := metrics[l.Metric]
	value := m.Median
	if ofLedger(l.Metric) {
		value = atFault(l.Metric, m, r.Rounds)
	}
	if found && !math.IsNaN(value) && !math.IsInf(value, 0) {
		f.Value = &value
		f.Margin = margin(l, value)
	}
	if spec.Bounded && found && m.N > 0 && finite(m.Low) && finite(m.Median) && finite(m.High) {
		f.judgeBounded(name, m, l)
		return f
	}
	var fault string
	samples := samplesOf(spec, metrics)
	switch shown, limit := render.Distinct(value, l.Value, 4); {
	case found && samples.tooFew():
		fault = fmt.Sprintf("%s rests on %s, but the percentile needs at least %s (the limit is %s)", name, samples.text(), render.Count(samples.least), bound(l))
	case !found:
		fault = name + " is missing from the result (the limit is " + bound(l) + ")" + whyMissing(l.Metric, r)
	case math.IsNaN(value):
		fault = name + " is not a number (the limit is " + bound(l) + ")"
	case math.IsInf(value, 0):
		fault = name + " is infinite (the limit is " + bound(l) + ")"
	case spec.Bounded && !(finite(m.Low) && finite(m.High)):
		fault = name + " has bounds that are not finite (the limit is " + bound(l) + ")"
	case value < 0:
		fault = fmt.Sprintf("%s is %s, which is not a measurement (the limit is %s)", name, shown, bound(l))
	case m.N <= 0:
		fault = name + " was measured in no round (the limit is " + bound(l) + ")"
	case value == 0 && !spec.Zero:
		fault = name + " is 0, which is not a measurement (the limit is " + bound(l) + ")"
	case l.Kind == Floor && value < l.Value:
		fault = fmt.Sprintf("%s %s is below the floor %s", name, shown, limit)
	case l.Kind == Ceiling && value > l.Value:
		fault = fmt.Sprintf("%s %s is above the ceiling %s", name, shown, limit)
	case l.Kind == Floor:
		f.OK, f.Sentence = true, fmt.Sprintf("%s %s is not below the floor %s", name, shown, limit)+samples.caution()
		return f
	default:
		f.OK, f.Sentence = true, fmt.Sprintf("%s %s is not above the ceiling %s", name, shown, limit)+samples.caution()
		return f
	}
	if l.On != "" {
		fault += fmt.Sprintf(" (observed %s on %s)", render.Digits(l.Observed, 4), l.On)
	}
	f.Sentence = fault + ": " + l.Because
	return f
}

// relativeTo returns the limit's metric at the point that the limit is relative to. It fails if the
// run has no such value above 0.
func (l Limit) relativeTo(r *result.Result) (float64, error) {
	for _, p := range r.Points {
		if p.Name != l.RelativeToPoint {
			continue
		}
		m, found := of(l, p.Metrics, p.Workloads)[l.Metric]
		if !found || m.N <= 0 || !(m.Median > 0) || math.IsInf(m.Median, 0) {
			return 0, fmt.Errorf("the run has no %s above 0 at the point %s, which the %s is relative to", l.Metric, p.Name, l.Kind)
		}
		return m.Median, nil
	}
	return 0, fmt.Errorf("the run has no point %s, which the %s is relative to", l.RelativeToPoint, l.Kind)
}

// whyMissing explains why the rounds lack a metric that only some rounds can have, or returns "".
func whyMissing(metric string, r *result.Result) string {
	if metric != result.DecayPercent {
		return ""
	}
	if _, err := result.Decay(r.Rounds); err != nil {
		return " (" + err.Error() + ")"
	}
	return ""
}

func bound(l Limit) string { return fmt.Sprintf("a %s of %s", l.Kind, render.Digits(l.Value, 4)) }

// atFault returns a count of tasks or reads at fault: the maximum of the result's summary, its
// highest round, and the sum over the rounds' ledgers. If the three differ, the gate assumes the
// worst.
func atFault(metric string, m result.Metric, rounds []result.Round) float64 {
	sum := 0.0
	for _, r := range rounds {
		switch metric {
		case result.Lost:
			sum += float64(r.Ledger.Lost)
		case result.Duplicated:
			sum += float64(r.Ledger.Duplicated)
		case result.Corrupted:
			sum += float64(r.Ledger.Corrupted)
		case result.ReadMismatches:
			sum += float64(r.Ledger.Misread)
		}
	}
	if m.Median < 0 {
		return m.Median
	}
	return max(m.Median, m.High, sum) // NaN if any of them is
}
