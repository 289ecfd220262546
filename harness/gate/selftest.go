package gate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// SelfTestVersion is the version of SelfTest's schema.
const SelfTestVersion = 2

// SelfTest contains the false-alarm rate and the power of the gate, measured by duets with a known
// answer. It is stored as selftest.json, the source of the self-test's page.
type SelfTest struct {
	Version    int         `json:"version"`
	Command    []string    `json:"command"` // of the newest piece
	Scenario   string      `json:"scenario"`
	Durability string      `json:"durability"`
	Host       result.Host `json:"host"` // of the newest piece
	GoVersion  string      `json:"go_version"`
	Started    time.Time   `json:"started"`
	Finished   time.Time   `json:"finished"`
	Within     float64     `json:"within_seconds"` // of one look
	Looks      int         `json:"looks"`
	// SliceMs, Together and CPUs are copied from the duet of the newest piece; see result.Duet.
	SliceMs  float64           `json:"slice_ms,omitempty"`
	Together bool              `json:"together,omitempty"`
	CPUs     []result.SideCPUs `json:"cpus,omitempty"`
	Alpha    float64           `json:"alpha"` // of all looks together
	// Commits lists the commits of the measured builds, in the order of their first piece. It
	// includes only pieces with generations or runs.
	Commits      []SelfTestCommit      `json:"commits"`
	Kinds        []SelfTestOf          `json:"kinds"`
	Counters     []SelfTestCounter     `json:"counters,omitempty"`
	Checks       []SelfTestCheck       `json:"checks,omitempty"`
	Calibrations []SelfTestCalibration `json:"calibrations,omitempty"`
}

// SelfTestCommit is a commit whose pieces were measured on one host.
type SelfTestCommit struct {
	Commit string    `json:"commit"`
	Dirty  bool      `json:"dirty,omitempty"`
	Host   string    `json:"host"` // CPU model and number of CPUs
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
	Pieces int       `json:"pieces"`
}

// SelfTestOf contains the gate's verdicts on one kind of change.
type SelfTestOf struct {
	SelfTestKind

	Pieces      int `json:"pieces"`
	Generations int `json:"generations"` // number of valid ones, which Figures is computed from
	// Planted contains the environment of the change's processes with the smallest and with the
	// largest planted amount; a single text if they are equal.
	Planted []string `json:"planted,omitempty"`
	// Figures are the measured differences over all generations of the bank.
	Figures []SelfTestFigure `json:"figures"`
	Trials  []Trial          `json:"trials"`
	// Checked contains disjoint trials of those pieces whose generations all report how the kernel
	// maps the program code of both sides. Generations in which the two sides are mapped
	// differently are then excluded. Checked is set only for builds of the same source.
	Checked []Trial `json:"checked,omitempty"`
}

// Figure returns the measured difference of a metric; ok is false if it was not measured.
func (o SelfTestOf) Figure(metric string) (f SelfTestFigure, ok bool) {
	i := slices.IndexFunc(o.Figures, func(f SelfTestFigure) bool { return f.Metric == metric })
	if i < 0 {
		return f, false
	}
	return o.Figures[i], true
}

// Trial returns the trials that end within the given number of looks; ok is false without such
// trials.
func (o SelfTestOf) Trial(looks int, disjoint bool) (t Trial, ok bool) {
	return trialOf(o.Trials, looks, disjoint)
}

// CheckedTrial returns the trials of Checked that end within the given number of looks; ok is false
// without such trials.
func (o SelfTestOf) CheckedTrial(looks int) (t Trial, ok bool) {
	return trialOf(o.Checked, looks, true)
}

func trialOf(all []Trial, looks int, disjoint bool) (t Trial, ok bool) {
	i := slices.IndexFunc(all, func(t Trial) bool { return t.Looks == looks && t.Disjoint == disjoint })
	if i < 0 {
		return t, false
	}
	return all[i], true
}

// SelfTestFigure is the loss of one metric with its 95 % confidence interval, as fractions, and the
// standard deviation of the ratio of the two sides over generations.
type SelfTestFigure struct {
	Metric string  `json:"metric"`
	Loss   float64 `json:"loss"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	StdDev float64 `json:"std_dev"`
}

// SelfTestCalibration is the measured cost of a large planted amount of a fault. The amounts that
// the kinds plant are derived from it proportionally.
type SelfTestCalibration struct {
	Fault  string `json:"fault"`
	Metric string `json:"metric"`
	// Load identifies the load and the conditions of the calibrating duet.
	Load    string    `json:"load,omitempty"`
	Time    time.Time `json:"time"`
	Commit  string    `json:"commit"`
	Planted string    `json:"planted"`
	// Amount is the amount planted for each task, in the fault's unit.
	Amount float64 `json:"amount"`
	// Excess is the relative increase that Amount causes in the CPU time per cycle, or in the time
	// between cycles. Low and High are its 95 % confidence interval.
	Excess      float64 `json:"excess"`
	Low         float64 `json:"low"`
	High        float64 `json:"high"`
	Generations int     `json:"generations"`
}

// SelfTestPiece is one look's worth of generations of a base and one kind of change, or the fixed
// work of several pairs of the same binary.
type SelfTestPiece struct {
	Folder string // for errors
	Kind   string
	// Amount is the amount planted for each task, in the fault's unit; 0 if both sides are builds
	// of the same source.
	Amount float64
	Duet   *result.Duet        // nil for CountersKind
	Works  []*result.FixedWork // only for CountersKind
}

// SelfTestBank contains all measurements of a self-test.
type SelfTestBank struct {
	Pieces       []SelfTestPiece // in the order of measurement
	Checks       []CheckPiece
	Calibrations []SelfTestCalibration
}

// SelfTestPlan contains the parameters for judging a bank.
type SelfTestPlan struct {
	Within float64 // seconds of one look, common to all pieces
	Drawn  int     // number of trials per kind from randomly drawn generations
	Policy DuetPolicy
	// Baselines contains the limits for judging Checks.
	Baselines *Baselines
}

// RunSelfTest judges all pieces of a bank.
func RunSelfTest(bank SelfTestBank, plan SelfTestPlan) (*SelfTest, error) {
	if len(bank.Pieces)+len(bank.Checks) == 0 {
		return nil, errors.New("the bank has no piece: measure some with --for")
	}
	test := &SelfTest{
		Version: SelfTestVersion, Within: plan.Within, Looks: plan.Policy.Looks, Alpha: plan.Policy.Alpha, Calibrations: bank.Calibrations,
	}
	known := map[string]bool{CountersKind: true}
	for at, kind := range SelfTestKinds() {
		known[kind.Name] = true
		if pieces := ofKind(bank.Pieces, kind.Name); len(pieces) > 0 {
			of, err := judgeKind(kind, pieces, plan, uint64(at))
			if err != nil {
				return nil, err
			}
			test.Kinds = append(test.Kinds, of)
		}
	}
	for _, p := range bank.Pieces {
		if !known[p.Kind] {
			return nil, fmt.Errorf("%s: its kind %q is unknown: move it out of the bank", p.Folder, p.Kind)
		}
	}
	test.Counters = judgeCounters(bank.Pieces)
	checks, err := judgeChecks(bank.Checks, plan.Baselines)
	if err != nil {
		return nil, err
	}
	test.Checks = checks
	test.provenance(bank)
	return test, nil
}

func ofKind(pieces []SelfTestPiece, kind string) (of []SelfTestPiece) {
	for _, p := range pieces {
		if p.Kind == kind {
			of = append(of, p)
		}
	}
	return of
}

func (t *SelfTest) provenance(bank SelfTestBank) {
	note := func(m result.Manifest, commit string, dirty bool, started, finished time.Time) {
		if t.Started.IsZero() || started.Before(t.Started) {
			t.Started = started
		}
		if finished.After(t.Finished) {
			t.Finished, t.Command, t.Host, t.GoVersion = finished, m.Command, m.Host, m.Build.GoVersion
		}
		host := fmt.Sprintf("%s, %s", cmp.Or(m.Host.CPUModel, "unknown CPU"), render.Plural(m.Host.CPUs, "CPU"))
		at := slices.IndexFunc(t.Commits, func(c SelfTestCommit) bool { return c.Commit == commit && c.Dirty == dirty && c.Host == host })
		if at < 0 {
			at = len(t.Commits)
			t.Commits = append(t.Commits, SelfTestCommit{Commit: commit, Dirty: dirty, Host: host, First: started, Last: finished})
		}
		c := &t.Commits[at]
		if started.Before(c.First) {
			c.First = started
		}
		if finished.After(c.Last) {
			c.Last = finished
		}
		c.Pieces++
	}
	for _, p := range bank.Pieces {
		if p.Duet == nil {
			continue
		}
		t.Scenario, t.Durability = p.Duet.Scenario, p.Duet.Manifest.Durability()
		t.SliceMs, t.Together, t.CPUs = p.Duet.SliceMs, p.Duet.Together, p.Duet.CPUs
		note(p.Duet.Manifest, p.Duet.Sides[0].Commit, p.Duet.Sides[0].Dirty, p.Duet.Started, p.Duet.Finished)
	}
	for _, p := range bank.Checks {
		r := p.Runs[0].Result
		note(r.Manifest, r.Manifest.Build.Commit, r.Manifest.Build.Dirty, r.Started, r.Finished)
	}
	slices.SortStableFunc(t.Commits, func(a, b SelfTestCommit) int { return a.First.Compare(b.First) })
}

// judgeKind judges all trials of one kind. seed must differ between kinds.
func judgeKind(kind SelfTestKind, pieces []SelfTestPiece, plan SelfTestPlan, seed uint64) (SelfTestOf, error) {
	of := SelfTestOf{SelfTestKind: kind, Pieces: len(pieces)}
	of.Planted = planted(pieces)
	whole := join(pieces...)
	// An incorrect generation would prevent all figures.
	whole.Generations = slices.DeleteFunc(whole.Generations, func(g result.Generation) bool { return g.Verdict == result.Incorrect })
	all := JudgeDuet(whole, 1, plan.Policy)
	if all.Verdict == result.Misconfigured {
		return of, fmt.Errorf("the pieces of %s, the first in %s: %s", kind.Name, pieces[0].Folder, strings.Join(all.Reasons, "; "))
	}
	of.Generations = all.Blocks
	for _, d := range all.Metrics {
		if d.Loss != nil {
			of.Figures = append(of.Figures, figure(d))
		}
	}
	of.Trials = trials(pieces, plan, seed)
	if checked := withCode(pieces); kind.Same() && len(checked) > 0 {
		of.Checked = slices.DeleteFunc(trials(checked, SelfTestPlan{Policy: plan.Policy}, seed), func(t Trial) bool { return !t.Disjoint })
	}
	return of, nil
}

// planted returns the environments of the pieces with the smallest and the largest Amount, or one
// text if they are equal.
func planted(pieces []SelfTestPiece) (texts []string) {
	order := func(a, b SelfTestPiece) int { return cmp.Compare(a.Amount, b.Amount) }
	for _, p := range []SelfTestPiece{slices.MinFunc(pieces, order), slices.MaxFunc(pieces, order)} {
		if text := strings.Join(p.Duet.Sides[1].Env, " "); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

func figure(d result.MetricDelta) SelfTestFigure {
	low, high := d.RatioLow-1, d.RatioHigh-1
	if d.Better == result.Higher {
		low, high = 1-d.RatioHigh, 1-d.RatioLow
	}
	f := SelfTestFigure{Metric: d.Metric, Loss: d.Loss.Estimate, Low: low, High: high}
	if logs, err := stat.LogRatios(d.Loss.Generations, slices.Repeat([]float64{1}, len(d.Loss.Generations))); err == nil {
		f.StdDev, _ = stat.StdDev(logs) // there are at least two
	}
	return f
}

// join combines pieces into one duet with the generations of all of them and the first fixed work
// among them.
func join(pieces ...SelfTestPiece) *result.Duet {
	joined := *pieces[0].Duet
	joined.Generations = nil
	for _, p := range pieces {
		joined.Generations = append(joined.Generations, p.Duet.Generations...)
		joined.Finished = p.Duet.Finished
		if joined.Work == nil {
			joined.Work = p.Duet.Work
		}
	}
	return &joined
}
