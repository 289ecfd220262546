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
	Name   string // of its folder
	Server string // the queued binary
	// Env is added to the environment of its servers: "NAME=value".
	Env []string
	// Build says of which commit the binary is, where it does not say so itself; nil where it does.
	Build *result.Build
}

// ArmsOptions say how arms are measured.
type ArmsOptions struct {
	Options // Server is not used: each arm has its own
	// For bounds the time of the timed rounds: no block begins that would end later than that after the first block began. 0 means no
	// bound besides the scenario's rounds. Two blocks are measured in any case.
	For time.Duration
	// Admit is called once the servers of all arms have said what they run with, in the order of the arms, after the first timed block as
	// a rule. Its error ends the comparison. Nil admits all.
	Admit func(servers [][]result.ServerSettings) error
}

// Arms are the results of several arms that were measured in blocks.
type Arms struct {
	Folder string // in which each arm has its run folder
	Arms   []result.Arm
	Blocks int // timed ones that count: rounds of each arm
	// Dropped are the blocks left out because a round was invalid, and Why says so for each.
	Dropped int
	Why     []string
	// Tried has an element for each arm, in their order.
	Tried    []result.Tried
	Started  time.Time
	Finished time.Time
}

// profiledAgain is how many profiled rounds may be measured again because one was invalid.
const profiledAgain = 2

// droppedMax is how many blocks may be dropped and measured again.
func droppedMax(blocks int) int { return max(2, blocks/2) }

// Interleave measures arms in blocks: first blocks of one timed round of each arm, each on fresh servers, then blocks of profiled
// rounds. The rounds of a block are compared with each other, because a host that is slow for a while slows all of them. The
// order within the blocks is counterbalanced: every second block reverses the order of the block before it, and every second
// pair of blocks begins with the next arm, so that each arm has each position equally often over twice as many blocks as arms.
//
// A block with an invalid round is dropped and measured again, for up to half as many blocks as the scenario has rounds. A server
// that fails, or a task at fault, ends the comparison, and the result of that arm says so. Each arm is an ordinary result in its
// own folder, below a folder that is created in Out. As with Execute, an error means that there are no results.
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
	b.progress.pace.planned *= time.Duration(len(arms)) // a block is to the progress what a round is to a run
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
		return fmt.Errorf("scenario %q has a sweep of %d points, and a comparison is of one: take a scenario without a sweep", s.Name, len(s.Points))
	}
	if s.Topology.Attached() {
		return fmt.Errorf("scenario %q attaches to servers that run already, whichever build is compared: have its nodes started by SSH", s.Name)
	}
	if len(arms) < 2 {
		return fmt.Errorf("%d arm can't be measured beside another: it takes two", len(arms))
	}
	for i, a := range arms {
		if a.Name == "" || result.Slug(a.Name) != a.Name {
			return fmt.Errorf("arm %q: its name must be of lower-case letters, digits and hyphens, since it names a folder", a.Name)
		}
		if slices.ContainsFunc(arms[:i], func(o Arm) bool { return o.Name == a.Name }) {
			return fmt.Errorf("two arms are named %q", a.Name)
		}
	}
	return nil
}

// bench is the arms of a comparison while they are measured.
type bench struct {
	options  ArmsOptions
	arms     []*runner
	measured Arms
	profiled int // rounds of each arm, so far
	admitted bool
	progress *progress
	host     *result.Host // once it was looked at
	// execute executes one round of an arm. It is runner.round, except in tests.
	execute func(context.Context, *runner, plannedRound) measured
}

func newBench(folder *result.Folder, s *scenario.Scenario, o ArmsOptions, started time.Time) *bench {
	return &bench{
		options: o, measured: Arms{Folder: folder.Path(), Started: started}, progress: newProgress(o.Options, s),
		execute: func(ctx context.Context, r *runner, p plannedRound) measured { return r.round(ctx, p) },
	}
}

// add prepares the run of an arm.
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
		r.references = b.arms[0].references // the arms are measured in the same minutes
	}
	if arm.Build != nil {
		of := &r.result.Manifest.Build
		of.Commit, of.Dirty = arm.Build.Commit, arm.Build.Dirty
	}
	b.arms = append(b.arms, r)
	b.measured.Tried = append(b.measured.Tried, result.Tried{Name: arm.Name})
	return r.folder.WriteManifest(r.result.Manifest)
}

// describe reads the host once, for all arms.
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

// run measures all blocks, and stores the result of each arm.
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

// admit asks whether the servers of the arms can be compared, once these have said what they run with.
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

// calibrate finds the peak that a rate is a part of with the first arm, so that all arms get the same rate.
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

// round measures one round of an arm.
func (b *bench) round(ctx context.Context, r *runner, p plannedRound) (measured, error) {
	over := b.progress.turn(r.folder.ID())
	m := b.execute(ctx, r, p)
	over()
	if ctx.Err() != nil {
		return m, errors.Join(fmt.Errorf("interrupted in round %d of %s: %w", p.number, r.folder.ID(), ctx.Err()), m.stopErr)
	}
	return m, nil
}

// block measures one round of each arm, and keeps them unless one is invalid. It says whether to go on.
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

// tried counts a round of an arm.
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

// drop leaves a block out.
func (b *bench) drop(p plannedRound, of *runner, m *measured) {
	if p.kind == timed {
		b.measured.Dropped++
	}
	for _, reason := range m.round.Reasons {
		b.measured.Why = append(b.measured.Why, fmt.Sprintf("block %d was dropped: %s: %s", p.number, of.folder.ID(), reason))
	}
	b.progress.line("  block %d: dropped: %s is invalid: %s", p.number, of.folder.ID(), m.round.Reasons)
}

// order is that of the arms in the next block. Dropped blocks do not count, so that each arm has each position equally often in those that are kept.
func (b *bench) order(of kind) []int {
	if of == profiled {
		return order(b.profiled, len(b.arms))
	}
	return order(b.measured.Blocks, len(b.arms))
}

// order is that of n arms in a block, from 0: reversed in every second block, and begun with the next arm every two.
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

// show is a line for a block.
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

// finish judges and stores each arm by itself.
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
