// Package run carries a scenario's plan out: round after round, each on a fresh topology, first those that find the
// peak that a rate is a part of, then the timed ones of all points in turn, with the profiled ones among them. It yields
// a result and stores it.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
	"github.com/pronybench/prony/harness/topology"
)

// Options say how scenarios are run.
type Options struct {
	Out    string // the folder that run folders are made in
	Server string // the queued binary
	K6     string // the k6 binary, of scenarios of driver "k6"; "" has it found
	// Attacker is the binary that calls attack.Main, for scenarios with an attack; "" means the running program.
	Attacker string
	Command  []string // the exact command, for the manifest
	// Progress is where people read how far the run is; Terminal says that it is one, so that a line
	// may be drawn over.
	Progress io.Writer
	Terminal bool
	Columns  func() int // how wide the terminal is now; nil: 80

	// Costs, if not nil, says of a result where its time goes: package gate has it, and this one does not judge.
	Costs func(*result.Result) []result.Cause

	// now is the time that progress goes by; nil: the clock's.
	now      func() time.Time
	hostRoot string // below which the host's proc and sys are found; "" means its own. Tests have files there
}

// findK6 finds the k6 binary where a scenario needs one.
func (o *Options) findK6(s *scenario.Scenario) (err error) {
	if o.K6 == "" && s.Workloads[0].Driver == scenario.DriverK6 {
		o.K6, err = k6run.Find()
	}
	return err
}

// Folders of a run folder: where its servers keep their data, which is gone after the run, and their logs.
const (
	dataDir = "data"
	logsDir = "logs"
)

// Execute runs one scenario and returns the result and the path of its folder, where it is stored.
// What goes wrong with the server under test is a verdict of the result, with reasons. The error is for what
// keeps the run from having a result at all: ctx ended, or the folder can't be written. The folder then keeps
// what there was.
func Execute(ctx context.Context, s *scenario.Scenario, o Options) (*result.Result, string, error) {
	if err := o.findK6(s); err != nil {
		return nil, "", err
	}
	started := time.Now()
	folder, err := result.Create(o.Out, result.NewID(started, s.Name))
	if err != nil {
		return nil, "", err
	}
	r, err := newRunner(s, o, folder, started, observe.Host)
	if err != nil {
		return nil, folder.Path(), err
	}
	err = errors.Join(r.run(ctx), removeData(r.data))
	return &r.result, folder.Path(), err
}

// newRunner prepares the run of a scenario in its folder. host describes the machine, with the filesystem of the folder given.
func newRunner(s *scenario.Scenario, o Options, folder *result.Folder, started time.Time, host func(dir string) result.Host) (*runner, error) {
	data := folder.File(dataDir)
	for _, dir := range []string{data, folder.File(logsDir)} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make a folder for the servers: %w", err)
		}
	}
	r := &runner{
		scenario: s, options: o, folder: folder, data: data, progress: newProgress(o, s),
		points: s.Plan(), peaks: make([]float64, len(s.Plan())),
	}
	r.result = result.Result{
		Version: result.Version, Run: folder.ID(), Scenario: s.Name, Title: s.Title, Started: started,
		Manifest: result.Manifest{
			Command: o.Command, Dir: observe.WorkingDir(), Scenario: *s,
			Host: host(data), Build: observe.Build(o.Server),
		},
	}
	if s.Workloads[0].Driver == scenario.DriverK6 {
		r.result.Manifest.Build.K6 = observe.Binary(o.K6)
	}
	if procs := s.Workloads[0].Procs; procs > 0 { // the same for all
		r.result.Manifest.Host.GOMAXPROCS, r.result.Manifest.Host.GOMAXPROCSSource = procs, "scenario"
	}
	return r, nil
}

// useProcs gives this process, the load generator, so many CPUs to run Go code on (0: as many as it has), and
// returns what undoes that.
func useProcs(n int) (undo func()) {
	before := runtime.GOMAXPROCS(n)
	return func() { runtime.GOMAXPROCS(before) }
}

func removeData(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the servers' data: %w", err)
	}
	return nil
}

type runner struct {
	scenario   *scenario.Scenario
	options    Options
	folder     *result.Folder
	data       string
	progress   *progress
	points     []scenario.Point
	peaks      []float64 // of each point, in cycles a second; 0 until its calibration
	result     result.Result
	histograms []result.RoundHistograms
	unknown    []string // signals of the host that have a limit and could not be read
	captured   []profile.Captured
	env        []string // of the servers, beside this process's own
}

func (r *runner) run(ctx context.Context) error {
	if err := r.folder.WriteManifest(r.result.Manifest); err != nil {
		return err
	}
	r.progress.plan(r.folder.Path())
	defer r.progress.clear() // whoever writes next must find an empty line
	plan := planned(r.scenario)
	for _, p := range plan {
		m := r.round(ctx, p)
		if ctx.Err() != nil {
			return errors.Join(fmt.Errorf("interrupted in round %d of %d: %w", p.number, len(plan), ctx.Err()), m.stopErr)
		}
		if err := r.keep(&m); err != nil {
			return err
		}
		r.progress.round(&m.round)
		if m.broken {
			break // a server that failed once is not asked again: its error is the finding
		}
	}
	r.judge()
	r.result.Finished = time.Now()
	if err := r.folder.Store(&r.result, r.histograms); err != nil {
		return err
	}
	r.progress.done(&r.result)
	return nil
}

// keep takes a round into the result, and stores the rounds so far.
func (r *runner) keep(m *measured) error {
	r.result.Rounds = append(r.result.Rounds, m.round)
	if m.histograms.Cycle != nil {
		r.histograms = append(r.histograms, result.RoundHistograms{Round: m.round.Number, Histograms: m.histograms, Workloads: m.ofWorkloads})
	}
	for _, of := range m.captured {
		r.captured = append(r.captured, profile.Captured{Source: of, Cycles: m.round.Cycles})
	}
	r.result.Warnings = append(r.result.Warnings, m.warnings...)
	return r.folder.WriteRounds(r.result.Rounds)
}

// judge gives the run the worst verdict of its rounds, and summarises what they measured.
func (r *runner) judge() {
	res := &r.result
	r.warnOfUnknown()
	res.Verdict = result.Pass
	for i := range res.Rounds {
		round := &res.Rounds[i]
		res.Verdict = result.Worst(res.Verdict, round.Verdict)
		for _, reason := range round.Reasons {
			res.Reasons = append(res.Reasons, fmt.Sprintf("round %d: %s", round.Number, reason))
		}
	}
	if err := errors.Join(r.profiles(), r.summarise()); err != nil && res.Verdict == result.Pass {
		// A figure that could not be taken must not pass for one that was not wanted.
		res.Verdict = result.Invalid
		res.Reasons = append(res.Reasons, err.Error())
	}
	if r.options.Costs != nil {
		res.Causes = r.options.Costs(res)
	}
}

// summarise fills in the metrics of the run, or of each of its points.
func (r *runner) summarise() (err error) {
	res := &r.result
	if len(r.scenario.Points) == 0 {
		res.Metrics, err = result.Summarise(res.Rounds, r.histograms, stat.Estimate, r.parts(r.points[0])...)
		err = errors.Join(err, overheads(res.Metrics, r.points[0], res.Rounds))
		if err == nil {
			res.Workloads, err = r.summariseWorkloads(r.points[0], res.Rounds)
		}
		return err
	}
	var errs []error
	res.Metrics = result.SummariseLedger(res.Rounds)
	costs, err := r.rateCosts()
	if err != nil {
		errs = append(errs, err)
	}
	for i, p := range r.points {
		rounds := slices.DeleteFunc(slices.Clone(res.Rounds), func(round result.Round) bool { return round.Point != i+1 })
		metrics, err := result.Summarise(rounds, r.histograms, stat.Estimate, r.parts(p)...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Name, err))
		}
		if err := overheads(metrics, p, rounds); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Name, err))
		}
		if cost, found := costs[i+1]; found && metrics != nil {
			metrics[result.RateCost] = cost
		}
		workloads, err := r.summariseWorkloads(p, rounds)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Name, err))
		}
		point := result.Point{Number: i + 1, Name: p.Name, Metrics: metrics, Workloads: workloads}
		for _, v := range p.Values {
			point.Values = append(point.Values, result.Value{Path: v.Path, Key: scenario.ShortPath(v.Path, r.scenario.Sweeps), Text: v.Text})
		}
		res.Points = append(res.Points, point)
	}
	return errors.Join(errs...)
}

// rateCosts compares each point of a sweep with the one that has the first sweep's first value and is otherwise the same,
// where all of them have a load that goes as fast as it can: a rate that was offered says nothing of what it costs.
func (r *runner) rateCosts() (map[int]result.Metric, error) {
	for _, p := range r.points {
		if scenario.Any(p.Workloads, func(w scenario.Workload) bool { return w.Arrivals.Kind != scenario.Closed }) {
			return nil, nil
		}
	}
	same := len(r.points) / len(r.scenario.Sweeps[0].Values) // points of each value of the first sweep, which changes slowest
	against := make([]int, len(r.points))
	for i := range against {
		against[i] = i%same + 1
	}
	return result.RateCosts(r.result.Rounds, against, stat.Estimate)
}

// parts are those that the rounds of a point have, and whose metrics must not be missing.
func (r *runner) parts(p scenario.Point) []result.Part {
	parts := partsOfLoad(p.Workloads...)
	loaded := len(parts) > 0
	switch p.Topology.Kind {
	case scenario.NoTopology:
		parts = append(parts, result.NoServer)
	case scenario.Embedded:
		parts = append(parts, result.InOneProcess)
	}
	if b := r.scenario.Backlog; b != nil {
		parts = append(parts, result.OfBacklog)
		if b.Restart != "none" {
			parts = append(parts, result.OfRestart)
		}
		if b.Reference > 0 {
			parts = append(parts, result.OfReference)
		}
	}
	if p.Topology.Kind == scenario.Raft && loaded {
		parts = append(parts, result.OfRaft)
	}
	if len(r.scenario.Faults) > 0 {
		parts = append(parts, result.OfFaults)
	}
	if r.scenario.SeriesEvery > 0 && loaded {
		parts = append(parts, result.OfSeries)
	}
	return parts
}

// partsOfLoad are those that some workloads have together: an open one among others makes an open load of all.
func partsOfLoad(workloads ...scenario.Workload) []result.Part {
	var parts []result.Part
	if scenario.Any(workloads, func(w scenario.Workload) bool { return w.Arrivals.Kind != scenario.None }) {
		parts = append(parts, result.OfLoad)
	}
	if scenario.Any(workloads, func(w scenario.Workload) bool { return w.Arrivals.Timed() }) {
		parts = append(parts, result.OfOpen)
	}
	return parts
}

// summariseWorkloads returns the metrics of each workload of a point that has several.
func (r *runner) summariseWorkloads(p scenario.Point, rounds []result.Round) ([]result.Workload, error) {
	if len(p.Workloads) < 2 {
		return nil, nil
	}
	var parts []result.PartsOfWorkload
	for _, w := range p.Workloads {
		parts = append(parts, result.PartsOfWorkload{Name: w.Name, Parts: partsOfLoad(w)})
	}
	return result.SummariseWorkloads(rounds, r.histograms, stat.Estimate, parts)
}

// serverFailed is the verdict on a server that failed: one that never served could not be measured
// as configured, one that died under load lost what it was doing.
func serverFailed(err error, served bool) (result.Verdict, string) {
	var server *topology.ServerError
	if errors.As(err, &server) && served {
		return result.Incorrect, err.Error()
	}
	if served {
		return result.Invalid, err.Error()
	}
	return result.Misconfigured, err.Error()
}
