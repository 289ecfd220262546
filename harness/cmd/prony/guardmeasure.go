package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/pronybench/prony/harness/duet"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/report/terminal"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

// The duets of a guard are short: they must detect a loss of 10 %, and ten scenarios share five
// minutes.
const (
	guardPerLook   = 2
	guardLooks     = 6
	guardClosed    = 2 * time.Second
	guardOpenPairs = 5
	// guardLookTime is the expected time of one look's generations with up to three nodes.
	guardLookTime = guardPerLook * 6 * time.Second
	// guardScenario is the time that an undecided duet leaves for each later scenario.
	guardScenario = 17 * time.Second
	// guardProfiled is the number of generations that take profiles after a loss, and
	// guardProfiling is their expected time.
	guardProfiled  = 2
	guardProfiling = 26 * time.Second
	// guardWork is the number of fixed-work cycles of a single server. guardWorkRaft is that of a
	// cluster, whose commits wait for several nodes.
	guardWork     = 15_000
	guardWorkRaft = 4_000
)

// guardMeasurer measures the scenarios of a guard, together with the baseline build if there is one
// and the scenario's limits need it.
type guardMeasurer struct {
	options run.Options
	servers *servers
	base    *baselineServer // nil if there is none
	guard   *guard
	worked  map[string]bool // topologies whose fixed work is done, by duet.WorkKey
}

func (m *guardMeasurer) measure(ctx context.Context, s *scenario.Scenario, place *run.Place) (guardedRun, error) {
	switch {
	case m.base == nil || !m.guard.limits.NeedsBaseline(s):
		return m.single(ctx, s, place)
	case duet.Fits(s) == nil:
		return m.duet(ctx, s, place)
	}
	return m.rounds(ctx, s, place)
}

// single runs the scenario without a baseline build. If it breaks a limit, it runs again with
// profiles.
func (m *guardMeasurer) single(ctx context.Context, s *scenario.Scenario, place *run.Place) (guardedRun, error) {
	r, folder, err := m.execute(ctx, s, place)
	if err != nil {
		return guardedRun{}, err
	}
	judged := terminal.Guarded{Report: gate.Check(m.guard.limits, r), Folder: folder, Foreign: foreignOf(r)}
	if judged.Verdict != result.Regressed || s.Profiles() > 0 {
		return guardedRun{r, judged}, nil
	}
	profiled := s.Profiled()
	if !m.guard.has(profiled.Expected()) {
		judged.NoProfiles = "there was no time left to take profiles"
		return guardedRun{r, judged}, nil
	}
	say(m.guard.stderr, "%s broke a limit and runs again with profiles", s.Name)
	again, profiles, err := m.execute(ctx, profiled, &run.Place{Number: place.Number, Of: place.Of})
	if timeOver(ctx, err) {
		judged.NoProfiles = "the time limit ended the run with profiles"
		return guardedRun{r, judged}, nil
	}
	if err != nil {
		return guardedRun{}, err
	}
	judged.Diagnose(again)
	judged.Profiles = profiles
	if again.Verdict == result.Incorrect { // a task at fault counts in any run
		judged.Verdict = result.Incorrect
		for _, reason := range again.Reasons {
			judged.Reasons = append(judged.Reasons, "in the run with profiles: "+reason)
		}
	}
	return guardedRun{r, judged}, nil
}

// execute runs a scenario as prony run does.
func (m *guardMeasurer) execute(ctx context.Context, s *scenario.Scenario, place *run.Place) (*result.Result, string, error) {
	o := m.options
	o.Server, o.ServerOf, o.Place = m.servers.first(s), m.servers.of, place
	return run.Execute(ctx, s, o)
}

// rounds runs the scenario's rounds with both builds in turn.
func (m *guardMeasurer) rounds(ctx context.Context, s *scenario.Scenario, place *run.Place) (guardedRun, error) {
	o := m.options
	o.Place = place
	alone := *s
	alone.References = nil // both builds are compared by their own figures
	arms := []run.Arm{{Name: run.Base, Server: m.base.path, Build: &result.Build{Commit: m.base.build.Commit}}, {Name: run.Change, Server: m.servers.first(s)}}
	measured, err := run.Interleave(ctx, &alone, arms, run.ArmsOptions{Options: o})
	if err != nil {
		return guardedRun{}, err
	}
	base, change := measured.Arms[0].Result, measured.Arms[1].Result
	beside := &gate.Beside{Commit: m.base.build.Commit, Pairs: gate.PairsOfRounds(base, change), Last: true}
	judged := terminal.Guarded{
		Report: gate.CheckBeside(m.guard.limits, change, beside), Folder: filepath.Join(measured.Folder, run.Change), Foreign: foreignOf(change),
	}
	if base.Verdict != result.Pass {
		judged.Warnings = append(judged.Warnings, fmt.Sprintf("the baseline build was %s: %s", base.Verdict, firstOf(base.Reasons)))
	}
	judged.Loss = gate.LossSentence(judged.Report, nil)
	return guardedRun{change, judged}, nil
}

// watchForeign watches the CPU time of other processes until stop is called. The sample interval is
// long, because the watch only needs the state at its start and its end.
func watchForeign() (stop func() []result.ForeignProcess) {
	watch := observe.StartWatch(observe.WatchConfig{Every: 24 * time.Hour})
	return func() []result.ForeignProcess { return watch.Stop().ForeignProcesses }
}

func foreignOf(r *result.Result) []result.ForeignProcess {
	var windows []*result.Signals
	for i := range r.Rounds {
		windows = append(windows, r.Rounds[i].Signals)
	}
	return result.MeanForeign(windows)
}

func firstOf(reasons []string) string {
	if len(reasons) == 0 {
		return "it does not say why"
	}
	return reasons[0]
}

// duet measures both builds at the same time.
func (m *guardMeasurer) duet(ctx context.Context, s *scenario.Scenario, place *run.Place) (guardedRun, error) {
	generator, err := ownGenerator()
	if err != nil {
		return guardedRun{}, err
	}
	sides := [2]duet.Side{
		{Name: run.Base, Servers: []string{m.base.path}, Generator: generator, GeneratorArgs: []string{generatorArg}, Build: result.Build{Commit: m.base.build.Commit}},
		{Name: run.Change, Servers: []string{m.servers.first(s)}, Generator: generator, GeneratorArgs: []string{generatorArg}, Build: observe.Build(m.servers.first(s))},
	}
	profiled := *s
	profiled.Captures = s.Profiled().Captures
	look := &guardLook{measurer: m, later: place.Of - place.Number}
	o := duet.Options{
		Out: m.options.Out, Command: m.options.Command, PerLook: guardPerLook, Looks: guardLooks, Closed: guardClosed, OpenPairs: guardOpenPairs,
		Seed: uint64(time.Now().UnixNano()), Decided: look.decided, Profiled: look.profiled, ProfileLosses: true,
		Expected: m.base.expected, NoWork: m.worked[duet.WorkKey(s)], WorkCycles: guardWork,
	}
	if s.Topology.Kind == "raft" {
		o.WorkCycles = guardWorkRaft
	}
	say(m.guard.stderr, "%s (%d of %d)", s.Name, place.Number, place.Of)
	measured, folder, err := measureDuet(m.guard.stderr, func(progress io.Writer) (*result.Duet, string, error) {
		o.Progress = progress
		return duet.Measure(ctx, &profiled, sides, o)
	})
	if err != nil {
		return guardedRun{}, err
	}
	m.worked[duet.WorkKey(s)] = true
	r := measured.Result(duet.Change, filepath.Base(folder))
	judged := terminal.Guarded{Report: gate.CheckDuet(m.guard.limits, measured, true), Folder: folder}
	var windows []*result.Signals
	for _, g := range measured.Generations {
		judged.Disturbances += len(g.Marks)
		windows = append(windows, g.Signals)
	}
	judged.Foreign = result.MeanForeign(windows)
	compared := gate.JudgeDuet(measured, 1, gate.DefaultDuetPolicy())
	// The limits decide, not the comparison.
	compared.Verdict, compared.Reasons = judged.Verdict, judged.Reasons
	if compared, err = described(folder, measured, compared); err != nil {
		return guardedRun{}, err
	}
	judged.Loss = gate.LossSentence(judged.Report, compared)
	for _, cause := range compared.Causes {
		judged.Where = append(judged.Where, cause.Sentence)
	}
	return guardedRun{r, judged}, result.WriteComparison(folder, compared)
}

// guardLook decides after each look at a duet whether more generations are needed.
type guardLook struct {
	measurer *guardMeasurer
	later    int // scenarios that are measured after this one
}

func (l *guardLook) decided(d *result.Duet, _ int) bool {
	g := l.measurer.guard
	return !g.hasBefore(l.later, guardLookTime) || !gate.CheckDuet(g.limits, d, false).Undecided()
}

// profiled returns the number of profiled generations for a loss.
func (l *guardLook) profiled(d *result.Duet) int {
	g := l.measurer.guard
	if !g.hasBefore(l.later, guardProfiling) || gate.CheckDuet(g.limits, d, true).Verdict != result.Regressed {
		return 0
	}
	return guardProfiled
}
