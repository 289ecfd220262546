// Package run executes a scenario and stores the result. It has five parts, each in files of its name:
//
//   - The scheduler (run, schedule) orders the rounds: first those that find the peak that a rate is a part of, then the timed
//     rounds of all points in turn, with the profiled ones among them. It summarises and stores them.
//   - A round (round, window) starts a fresh topology, puts the load on it, injects the faults, reads all processes at the
//     window's edges, and stops the topology. The ledger and the servers' own account are part of the round.
//   - A deployment measures one window after the other on the same servers, and goes on after a crash of theirs or of its own.
//   - A comparison runs the rounds of several arms in blocks, and drops blocks with an invalid round.
//   - Validity compares what was observed of the host, the rate and the generator with the limits of the scenario.
//
// A failure of the server under test is a verdict of the result with reasons. Errors are for what prevents a result.
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

	"github.com/pronybench/prony/harness/hosts"
	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/reference"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// Options say how scenarios are run.
type Options struct {
	Out    string // the folder that run folders are made in
	Server string // the queued binary
	// ServerOf returns the queued binary of a topology, of points that differ in how their servers are built; nil: it is Server of all.
	ServerOf func(scenario.Topology) string
	K6       string // the k6 binary, of scenarios of driver "k6"; "" has it found
	// Attacker is the binary that calls attack.Main, for scenarios with an attack; "" means the running program.
	Attacker string
	Command  []string // the exact command, for the manifest
	// Progress is where people read how far the run is; Terminal says that it is one, so that a line
	// may be drawn over.
	Progress io.Writer
	Terminal bool
	Columns  func() int // how wide the terminal is now; nil: 80
	// Place is where the run stands among those that a command makes one after the other; nil: it is the only one.
	Place *Place
	// JudgedLater leaves the verdict out of Progress: the caller judges the figures by limits and prints the verdict.
	JudgedLater bool
	// RepeatInvalid has Execute measure invalid rounds again, at the end of the run, each at most twice: scenario.RepeatsMax of them in all, and none
	// if more are invalid. The last figures stand, whatever they are; the others are in Result.Repeated.
	RepeatInvalid bool

	// Describe, if not nil, fills in where the time of a result goes and what limits its rate: package gate has Describe, and this one
	// does not judge.
	Describe func(*result.Result)

	// now is the time that progress goes by; nil: the clock's.
	now      func() time.Time
	hostRoot string // below which the host's proc and sys are found; "" means its own. Tests have files there
}

// binary returns the queued binary of a topology.
func (o *Options) binary(t scenario.Topology) string {
	if o.ServerOf != nil {
		return o.ServerOf(t)
	}
	return o.Server
}

// findK6 finds the k6 binary where a scenario needs one.
func (o *Options) findK6(s *scenario.Scenario) (err error) {
	if o.K6 == "" && s.Workloads[0].Driver == scenario.DriverK6 {
		o.K6, err = k6run.Find()
	}
	return err
}

// logsDir is the folder of a run folder that has the servers' logs.
const logsDir = "logs"

// Execute runs one scenario and returns the result and the path of its folder, where it is stored.
// What goes wrong with the server under test is a verdict of the result, with reasons. The error is for what
// keeps the run from having a result at all: ctx ended, or the folder can't be written. The folder then keeps
// what there was.
func Execute(ctx context.Context, s *scenario.Scenario, o Options) (*result.Result, string, error) {
	if err := o.findK6(s); err != nil {
		return nil, "", err
	}
	if err := result.CheckLatest(o.Out); err != nil {
		return nil, "", err
	}
	started := time.Now()
	folder, release, err := result.Begin(o.Out, result.NewID(started, s.Name), o.Progress)
	if err != nil {
		return nil, "", err
	}
	r, err := newRunner(s, o, folder, started, observe.Host)
	if err != nil {
		return nil, folder.Path(), errors.Join(err, removeData(folder.File(result.DataDir)), release())
	}
	err = errors.Join(r.run(ctx), removeData(r.data), release())
	return &r.result, folder.Path(), err
}

// newRunner prepares the run of a scenario in its folder. host describes the machine, with the filesystem of the folder given.
func newRunner(s *scenario.Scenario, o Options, folder *result.Folder, started time.Time, host func(dir string) result.Host) (*runner, error) {
	data := folder.File(result.DataDir)
	for _, dir := range []string{data, folder.File(logsDir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil { // those of a deployment may be there
			return nil, fmt.Errorf("make a folder for the servers: %w", err)
		}
	}
	r := &runner{
		scenario: s, options: o, folder: folder, data: data, progress: newProgress(o, s),
		points: s.Plan(), peaks: make([]float64, len(s.Plan())), references: newReferences(s.References, reference.Of(s, data)),
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
	references *references
	peaks      []float64 // of each point, in cycles a second; 0 until its calibration
	result     result.Result
	histograms []result.RoundHistograms
	planned    int          // rounds; 0 of an arm
	leftOut    map[int]bool // points, from 0, that this machine cannot measure
	unknown    []string     // signals of the host that have a limit and could not be read
	captured   []profile.Captured
	env        []string // of the servers, beside this process's own
	// before is what servers that are measured again held and had counted before the round.
	before observe.Counts
}

func (r *runner) run(ctx context.Context) error {
	if err := r.folder.WriteManifest(r.result.Manifest); err != nil {
		return err
	}
	r.leaveOut(hosts.Probe)
	if err := r.describeTargets(ctx); err != nil {
		return err
	}
	plan := planned(r.scenario, r.leftOut)
	r.planned = len(plan)
	if err := r.writeRounds(); err != nil { // a run that is killed in its first round has none
		return err
	}
	r.progress.replan(plan)
	r.progress.plan(r.folder.Path())
	r.progress.targets(&r.result)
	defer r.progress.clear() // whoever writes next must find an empty line
	r.references.sample(ctx)
	whole := true
	failed := map[int]bool{} // points whose servers are not asked again: their error is the finding
	for _, p := range plan {
		if failed[p.point] {
			continue
		}
		m := r.round(ctx, p)
		if ctx.Err() != nil {
			return errors.Join(fmt.Errorf("interrupted in round %d of %d: %w", p.number, len(plan), ctx.Err()), m.stopErr)
		}
		if err := r.keep(&m); err != nil {
			return err
		}
		r.progress.round(&m.round)
		if m.broken {
			failed[p.point] = true
			if r.points[p.point].Topology.Kind != scenario.ByProgram { // a failed target says nothing of other targets
				whole = false
				break
			}
		}
		r.references.sample(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted after round %d of %d: %w", p.number, len(plan), ctx.Err())
		}
	}
	if whole && r.options.RepeatInvalid {
		if err := r.repeatInvalid(ctx, plan, failed); err != nil {
			return err
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
	slices.SortFunc(r.result.Rounds, func(a, b result.Round) int { return a.Number - b.Number }) // one that is measured once more comes last
	if m.histograms.Cycle != nil {
		r.histograms = append(r.histograms, result.RoundHistograms{Round: m.round.Number, Histograms: m.histograms, Workloads: m.ofWorkloads})
	}
	r.captured = append(r.captured, m.captured...)
	r.result.Warnings = append(r.result.Warnings, m.warnings...)
	if err := r.folder.WriteHistograms(r.histograms); err != nil {
		return err
	}
	return r.writeRounds()
}

func (r *runner) writeRounds() error {
	d := result.RoundsDocument{Rounds: r.result.Rounds, Planned: r.planned}
	for i := range r.scenario.Points {
		d.Points = append(d.Points, r.pointOf(i))
	}
	return r.folder.WriteRounds(d)
}

// judge gives the run the worst verdict of its rounds, and summarises what they measured.
func (r *runner) judge() {
	res := &r.result
	res.Warnings = append(res.Warnings, r.warningsOfUnknown()...)
	res.Verdict = result.Pass
	r.judgeLeftOut()
	for i := range res.Rounds {
		round := &res.Rounds[i]
		res.Verdict = result.Worst(res.Verdict, round.Verdict)
		for _, reason := range round.Reasons {
			res.Reasons = append(res.Reasons, fmt.Sprintf("round %d: %s", round.Number, reason))
		}
	}
	var err error
	res.References, err = r.references.summarise()
	if err = errors.Join(err, r.profiles(), r.summarise()); err != nil && res.Verdict == result.Pass {
		// A figure that could not be taken must not pass for one that was not wanted.
		res.Verdict = result.Invalid
		res.Reasons = append(res.Reasons, err.Error())
	}
	if r.options.Describe != nil {
		r.options.Describe(res)
	}
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
