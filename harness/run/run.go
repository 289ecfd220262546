// Package run executes a scenario and stores the result. It has five parts, each in files named
// after it:
//
//   - The scheduler (run, schedule) orders the rounds. If a rate is a part of the peak, the rounds
//     that find the peak come first. Then come the timed rounds of all points in turn, interleaved
//     with the profiled rounds. The scheduler summarises and stores the rounds.
//   - A round (round, window) starts fresh servers, runs the load, injects the faults, samples all
//     processes at the edges of the window, and stops the servers. The ledger and the servers' own
//     account are part of the round.
//   - A deployment measures successive windows on the same servers and recovers from a crash of the
//     servers or of the harness.
//   - A comparison runs the rounds of several arms in blocks, and drops blocks with an invalid
//     round.
//   - Validity compares the observed host, rate and generator with the limits of the scenario.
//
// A failure of the server under test is a verdict of the result, with reasons. An error means that
// there is no result.
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

// Options configures how scenarios are run.
type Options struct {
	Out    string // folder in which run folders are created
	Server string // path of the queued binary
	// ServerOf returns the path of the queued binary for a topology. Sweeps over builds need it. If
	// it is nil, Server is used for all topologies.
	ServerOf func(scenario.Topology) string
	K6       string // path of the k6 binary for scenarios with driver "k6"; "" searches for it
	// Attacker is the path of a binary that calls attack.Main, for scenarios with an attack. ""
	// selects the running program.
	Attacker string
	Command  []string // exact command line, for the manifest
	// Progress receives progress output for people. Terminal is set if Progress is a terminal,
	// whose lines may be redrawn.
	Progress io.Writer
	Terminal bool
	Columns  func() int // returns the current width of the terminal; nil means 80
	// Place is the position of the run in a series of runs of one command. It is nil if the command
	// has only one run.
	Place *Place
	// JudgedLater omits the verdict from Progress. It is set if the caller judges the figures by
	// limits and prints the verdict.
	JudgedLater bool
	// RepeatInvalid makes Execute repeat invalid rounds at the end of the run. Each round is
	// repeated at most twice, and all repetitions together are at most scenario.RepeatsMax. If more
	// rounds are invalid, none is repeated. The last measurement of a round counts, whatever its
	// figures are; earlier measurements are in Result.Repeated.
	RepeatInvalid bool

	// Describe fills in the parts of a result that describe where its time is spent and what limits
	// its rate. Package gate implements it, because package run does not judge. Describe may be
	// nil.
	Describe func(*result.Result)

	// now is the clock of the progress output; nil selects time.Now.
	now      func() time.Time
	hostRoot string // folder with the host's proc and sys; "" is the real root; only tests set it
}

func (o *Options) binary(t scenario.Topology) string {
	if o.ServerOf != nil {
		return o.ServerOf(t)
	}
	return o.Server
}

func (o *Options) findK6(s *scenario.Scenario) (err error) {
	if o.K6 == "" && s.Workloads[0].Driver == scenario.DriverK6 {
		o.K6, err = k6run.Find()
	}
	return err
}

// logsDir is the subfolder of a run folder for the servers' logs.
const logsDir = "logs"

// Execute runs one scenario and stores its result in a new run folder. It returns the result and
// the path of the folder. A failure of the server under test is a verdict of the result, with
// reasons. An error means that the run has no result, because ctx is done or the folder cannot be
// written. In that case the folder contains the rounds so far.
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

// newRunner prepares the run of a scenario in its folder. host returns a description of the
// machine, including the file system of dir.
func newRunner(s *scenario.Scenario, o Options, folder *result.Folder, started time.Time, host func(dir string) result.Host) (*runner, error) {
	data := folder.File(result.DataDir)
	for _, dir := range []string{data, folder.File(logsDir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil { // a deployment may already have them
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
	if procs := s.Workloads[0].Procs; procs > 0 { // all workloads have the same number of procs
		r.result.Manifest.Host.GOMAXPROCS, r.result.Manifest.Host.GOMAXPROCSSource = procs, "scenario"
	}
	return r, nil
}

// useProcs sets GOMAXPROCS of this process, which is the load generator, to n. If n is 0,
// GOMAXPROCS is unchanged. The returned function restores the old value.
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
	peaks      []float64 // in cycles per second, one per point; 0 until the point is calibrated
	result     result.Result
	histograms []result.RoundHistograms
	planned    int          // number of rounds; 0 for an arm
	leftOut    map[int]bool // indexes of points that this machine cannot measure
	unknown    []string     // signals of the host that have a limit but could not be read
	captured   []profile.Captured
	env        []string // added to the environment of the servers
	// before contains the counts of the servers before the round, if the same servers are measured
	// repeatedly.
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
	// This way the folder of a run that is killed in its first round contains an empty list of
	// rounds.
	if err := r.writeRounds(); err != nil {
		return err
	}
	r.progress.replan(plan)
	r.progress.plan(r.folder.Path())
	r.progress.targets(&r.result)
	defer r.progress.clear() // the next writer must start on an empty line
	r.references.sample(ctx)
	whole := true
	// Points whose server failed are not measured again: the error is their result.
	failed := map[int]bool{}
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
			// A failed target does not affect other targets.
			if r.points[p.point].Topology.Kind != scenario.ByProgram {
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

// keep adds a round to the result and writes all rounds so far to the folder.
func (r *runner) keep(m *measured) error {
	r.result.Rounds = append(r.result.Rounds, m.round)
	// A repeated round was appended last, but its number belongs to an earlier position.
	slices.SortFunc(r.result.Rounds, func(a, b result.Round) int { return a.Number - b.Number })
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

// judge sets the verdict of the run to the worst verdict of its rounds, and summarises their
// measurements.
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
		// A figure that could not be measured must not look like a figure that was not requested.
		res.Verdict = result.Invalid
		res.Reasons = append(res.Reasons, err.Error())
	}
	if r.options.Describe != nil {
		r.options.Describe(res)
	}
}

// serverFailed returns the verdict and the reason for a failed server. If the server never served,
// it was misconfigured. If the server process died while serving, the verdict is incorrect, because
// the server may have lost work. Any other error while serving makes the round invalid.
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
