package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Names of the arms of a comparison.
const (
	Base    = "base"
	Change  = "change"
	Control = "control" // the base, measured a second time
)

// Arm is one side of a comparison.
type Arm struct {
	Name   string // also the name of its folder
	Server string // path of the queued binary
	// Env is added to the environment of the arm's servers. Each element has the form "NAME=value".
	Env []string
	// Build is the revision of the binary. It is nil if the binary reports its revision itself.
	Build *result.Build
}

// ArmsOptions configures the measurement of arms.
type ArmsOptions struct {
	Options // Options.Server is not used: each arm has its own
	// For bounds the duration of the timed rounds: no block starts that would probably end later
	// than For after the start of the first block. If For is 0, only the scenario's number of
	// rounds is a bound. At least two blocks are measured in any case.
	For time.Duration
	// Admit is called once with the settings that the servers of each arm reported, in arm order.
	// Usually this is after the first timed block. If it returns an error, the comparison ends. If
	// Admit is nil, all settings are accepted.
	Admit func(servers [][]result.ServerSettings) error
}

// Arms contains the results of several arms that were measured in blocks.
type Arms struct {
	Folder string // contains one run folder per arm
	Arms   []result.Arm
	Blocks int // number of timed blocks in the results, equal to the number of timed rounds per arm
	// Dropped is the number of blocks that were dropped because a round was invalid. Why contains
	// the reasons for each drop.
	Dropped int
	Why     []string
	// Tried counts the rounds of each arm, in arm order.
	Tried    []result.Tried
	Started  time.Time
	Finished time.Time
}

// profiledAgain bounds how many blocks of profiled rounds are measured again because a round was
// invalid.
const profiledAgain = 2

func droppedMax(blocks int) int { return max(2, blocks/2) }

// Interleave measures arms in blocks. It first measures blocks that consist of one timed round of
// each arm, each on fresh servers. Then it measures blocks of profiled rounds. The rounds of a
// block are compared with each other, because a host that is slow for a while slows all of them.
// The order within the blocks is counterbalanced: every second block reverses the order of its
// predecessor, and every second pair of blocks starts with the next arm. Over twice as many blocks
// as arms, each arm thus has each position equally often.
//
// A block with an invalid round is dropped and measured again. At most half as many blocks as the
// scenario has rounds are measured again. A failed server or a fault of a task ends the comparison,
// and the result of that arm records the reason. Each arm has an ordinary result in a separate
// folder, below a folder that is created in Out. As with Execute, an error means that no results
// exist.
func Interleave(ctx context.Context, s *scenario.Scenario, arms []Arm, o ArmsOptions) (*Arms, error) {
	if err := checkArms(s, arms); err != nil {
		return nil, err
	}
	if err := o.findK6(s); err != nil {
		return nil, err
	}
	started := time.Now()
	folder, release, err := result.Begin(o.Out, result.NewID(started, "compare-"+s.Name), o.Progress)
	if err != nil {
		return nil, err
	}
	b := newBench(folder, s, o, started)
	b.progress.pace.planned *= time.Duration(len(arms)) // the progress treats a block as a round
	b.progress.pace.begin(started)
	defer b.progress.clear()
	for _, arm := range arms {
		if err := b.add(s, arm, started); err != nil {
			return &b.measured, errors.Join(err, b.clean(), release())
		}
	}
	b.progress.line("%s: durability %s, %d blocks of %d arms, each %v + %v", s.Name, b.progress.durability(), s.Rounds, len(arms),
		s.Phases.Warmup, s.Phases.Window)
	b.progress.beside(len(arms))
	b.progress.line("%s: comparison folder %s", s.Name, folder.Path())
	err = errors.Join(b.run(ctx, s), b.clean(), release())
	b.measured.Finished = time.Now()
	return &b.measured, err
}

func checkArms(s *scenario.Scenario, arms []Arm) error {
	if len(s.Points) > 0 {
		return fmt.Errorf("scenario %q has a sweep of %d points, expected one point: compare with a scenario without a sweep", s.Name, len(s.Points))
	}
	if s.Topology.Attached() {
		return fmt.Errorf("scenario %q attaches to servers that already run, so both arms would measure the same build: let SSH start its nodes", s.Name)
	}
	if len(arms) < 2 {
		return fmt.Errorf("cannot compare %d arm: expected at least two", len(arms))
	}
	for i, a := range arms {
		if a.Name == "" || result.Slug(a.Name) != a.Name {
			return fmt.Errorf("arm %q: expected a name of lower-case letters, digits and hyphens, because it names a folder", a.Name)
		}
		if slices.ContainsFunc(arms[:i], func(o Arm) bool { return o.Name == a.Name }) {
			return fmt.Errorf("two arms are named %q", a.Name)
		}
	}
	return nil
}

// bench is the state of a comparison that is being measured.
type bench struct {
	options  ArmsOptions
	arms     []*runner
	measured Arms
	profiled int // profiled blocks measured so far
	admitted bool
	progress *progress
	host     *result.Host // nil until it was examined
	// execute executes one round of an arm. It calls runner.round except in tests.
	execute func(context.Context, *runner, plannedRound) measured
}

func newBench(folder *result.Folder, s *scenario.Scenario, o ArmsOptions, started time.Time) *bench {
	return &bench{
		options: o, measured: Arms{Folder: folder.Path(), Started: started}, progress: newProgress(o.Options, s),
		execute: func(ctx context.Context, r *runner, p plannedRound) measured { return r.round(ctx, p) },
	}
}

func (b *bench) add(s *scenario.Scenario, arm Arm, started time.Time) error {
	folder, err := result.Create(b.measured.Folder, arm.Name)
	if err != nil {
		return err
	}
	o := b.options.Options
	o.Server = arm.Server
	r, err := newRunner(s, o, folder, started, b.describe)
	if err != nil {
		return err
	}
	r.env, r.progress = arm.Env, b.progress
	if len(b.arms) > 0 {
		// all arms share the samples of the references, because their rounds are interleaved
		r.references = b.arms[0].references
	}
	if arm.Build != nil {
		of := &r.result.Manifest.Build
		of.Commit, of.Dirty = arm.Build.Commit, arm.Build.Dirty
	}
	b.arms = append(b.arms, r)
	b.measured.Tried = append(b.measured.Tried, result.Tried{Name: arm.Name})
	return r.folder.WriteManifest(r.result.Manifest)
}

// describe examines the host at the first call and returns the cached result afterwards.
func (b *bench) describe(dir string) result.Host {
	if b.host == nil {
		host := observe.Host(dir)
		b.host = &host
	}
	return *b.host
}

func (b *bench) clean() error {
	var errs []error
	for _, r := range b.arms {
		errs = append(errs, removeData(r.data))
	}
	return errors.Join(errs...)
}

func (b *bench) run(ctx context.Context, s *scenario.Scenario) error {
	number, going, err := b.calibrate(ctx)
	if err != nil {
		return err
	}
	references := b.arms[0].references
	references.sample(ctx)
	began, longest := time.Now(), time.Duration(0)
	for going && b.measured.Blocks < s.Rounds && b.measured.Dropped <= droppedMax(s.Rounds) {
		at := time.Now()
		if b.options.For > 0 && b.measured.Blocks >= 2 && at.Add(longest).Sub(began) > b.options.For {
			break
		}
		number++
		if going, err = b.block(ctx, plannedRound{number: number, kind: timed}); err != nil {
			return err
		}
		references.sample(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted after block %d: %w", number, ctx.Err())
		}
		if err := b.admit(); err != nil {
			return err
		}
		longest = max(longest, time.Since(at))
	}
	for tries := 0; going && b.profiled < s.Profiles() && tries < s.Profiles()+profiledAgain; tries++ {
		number++
		if going, err = b.block(ctx, plannedRound{number: number, kind: profiled}); err != nil {
			return err
		}
	}
	return b.finish()
}

// admit calls Admit once the servers of all arms have reported their settings.
func (b *bench) admit() error {
	var servers [][]result.ServerSettings
	for _, r := range b.arms {
		if said := r.result.Manifest.Servers; len(said) > 0 {
			servers = append(servers, said)
		}
	}
	if b.admitted || b.options.Admit == nil || len(servers) < len(b.arms) {
		return nil
	}
	b.admitted = true
	return b.options.Admit(servers)
}

// calibrate finds the peak with the first arm and copies it to the others. A rate that is given as
// a part of the peak is then the same for all arms.
func (b *bench) calibrate(ctx context.Context) (rounds int, going bool, err error) {
	first := b.arms[0]
	for _, p := range planned(first.scenario, nil) {
		if p.kind != calibration {
			return rounds, true, nil
		}
		rounds++
		m, err := b.round(ctx, first, p)
		if err != nil {
			return rounds, false, err
		}
		if err := first.keep(&m); err != nil || m.broken {
			return rounds, false, err
		}
		for _, r := range b.arms[1:] {
			copy(r.peaks, first.peaks)
		}
	}
	return rounds, true, nil
}

// round measures one round of an arm. It returns an error if ctx is done.
func (b *bench) round(ctx context.Context, r *runner, p plannedRound) (measured, error) {
	over := b.progress.turn(r.folder.ID())
	m := b.execute(ctx, r, p)
	over()
	if ctx.Err() != nil {
		return m, errors.Join(fmt.Errorf("interrupted in round %d of %s: %w", p.number, r.folder.ID(), ctx.Err()), m.stopErr)
	}
	return m, nil
}

// block measures one round of each arm and stores the rounds. If a round is invalid, it drops the
// block instead. It reports whether the comparison continues.
func (b *bench) block(ctx context.Context, p plannedRound) (going bool, err error) {
	rounds := make([]measured, len(b.arms))
	for _, i := range b.order(p.kind) {
		if rounds[i], err = b.round(ctx, b.arms[i], p); err != nil {
			return false, err
		}
		m := &rounds[i]
		b.tried(i, m)
		if m.round.Verdict == result.Pass {
			continue
		}
		if m.round.Verdict == result.Invalid && !m.broken {
			b.drop(p, b.arms[i], m)
			return true, nil
		}
		b.progress.line("  block %d: %s: %s", p.number, b.arms[i].folder.ID(), m.round.Verdict)
		return false, b.arms[i].keep(m)
	}
	for i, r := range b.arms {
		if err := r.keep(&rounds[i]); err != nil {
			return false, err
		}
	}
	if p.kind == timed {
		b.measured.Blocks++
	} else {
		b.profiled++
	}
	b.show(p, rounds)
	return true, nil
}

func (b *bench) tried(arm int, m *measured) {
	if m.round.Profiled {
		return
	}
	of := &b.measured.Tried[arm]
	of.Rounds++
	if m.round.Verdict == result.Invalid {
		of.Invalid++
	}
}

func (b *bench) drop(p plannedRound, of *runner, m *measured) {
	if p.kind == timed {
		b.measured.Dropped++
	}
	for _, reason := range m.round.Reasons {
		b.measured.Why = append(b.measured.Why, fmt.Sprintf("block %d was dropped: %s: %s", p.number, of.folder.ID(), reason))
	}
	b.progress.line("  block %d: dropped: %s is invalid: %s", p.number, of.folder.ID(), m.round.Reasons)
}

// order returns the order of the arms in the next block. Dropped blocks are not counted, so that
// each arm has each position equally often in the stored blocks.
func (b *bench) order(of kind) []int {
	if of == profiled {
		return order(b.profiled, len(b.arms))
	}
	return order(b.measured.Blocks, len(b.arms))
}

// order returns the order of n arms in a block. Blocks are counted from 0. Every second block is
// reversed, and every two blocks the order is rotated by one arm.
func order(block, n int) []int {
	arms := make([]int, n)
	for i := range arms {
		arms[i] = (i + block/2) % n
	}
	if block%2 == 1 {
		slices.Reverse(arms)
	}
	return arms
}

func (b *bench) show(p plannedRound, rounds []measured) {
	line := fmt.Sprintf("  block %d", p.number)
	if p.kind == profiled {
		line += " (profiled)"
	}
	for i, r := range b.arms {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		line += fmt.Sprintf("%s%s %s", separator, r.folder.ID(), render.Number(rounds[i].round.Metrics[result.CyclesPerS]))
	}
	b.progress.line("%s cycles/s", line)
}

func (b *bench) finish() error {
	var errs []error
	for _, r := range b.arms {
		r.judge()
		r.result.Finished = time.Now()
		errs = append(errs, r.folder.StoreArm(&r.result, r.histograms))
		b.measured.Arms = append(b.measured.Arms, result.Arm{
			Name: r.folder.ID(), Path: r.folder.Path(), Result: &r.result, Histograms: r.histograms,
		})
	}
	return errors.Join(errs...)
}
