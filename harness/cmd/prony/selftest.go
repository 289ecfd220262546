package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

const (
	bankFile     = "bank.json"
	selfTestData = "selftest.json"
	selfTestPage = "selftest.md"

	// segmentBlocks is how many blocks are stored at a time: twice as many as there are arms, so that each arm stood everywhere
	// equally often.
	segmentBlocks = 10
	// trialBlocks and trialShare are for the trial that finds out what a planted time costs.
	trialBlocks = 6
	trialShare  = 0.25
)

// sameArms are the identical arms of the bank.
var sameArms = []string{"a", "b", "c"}

type selfTestFlags struct {
	bank, scenario, publish, tags string
	length, within                time.Duration
	drawn                         int
	json                          bool
}

func gateCommand(args []string) *cobra.Command {
	c := &cobra.Command{
		Use:   "gate",
		Short: "Examine the gate itself",
		Long: `A gate that was never seen to fail is not trusted, and one that fails without cause is switched off. selftest
measures how often this one does either.`,
		Example: "  prony gate selftest --for 30m",
	}
	c.AddCommand(selfTestCommand(args))
	return c
}

func selfTestCommand(args []string) *cobra.Command {
	var f selfTestFlags
	var render string
	c := &cobra.Command{
		Use:   "selftest",
		Short: "Measure the gate's false alarms and its power",
		Long: `Builds the server of the working tree with planted faults, and measures five arms in turn beside each other:
three that are identical, and two that compute a little for each task, so that they lose 5 and 10 percent of the rate.
Many comparisons are judged from these blocks: each "regressed" of identical arms is a false alarm, each other verdict on
a slowed arm a miss. How slow the slowed arms really were is measured as well.

The bank's folder keeps each measurement: an interrupted self-test, or one with a longer --for, goes on with the same bank.
--for 0 measures nothing and judges the bank.`,
		Example: `  prony gate selftest --for 30m
  prony gate selftest --for 0 --publish reports`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if render != "" {
				return renderSelfTest(c, render)
			}
			return f.run(c, args)
		},
	}
	c.Flags().StringVar(&render, "render", "", "folder of a published self-test whose page is written again; nothing is measured")
	c.Flags().StringVar(&f.bank, "bank", filepath.Join(defaultOut, "selftest"), "folder of what was measured")
	c.Flags().StringVar(&f.scenario, "scenario", "", "file of the scenario to measure, instead of "+compareScenario)
	c.Flags().StringVar(&f.publish, "publish", "", "folder that the page and its data are written to as well")
	c.Flags().StringVar(&f.tags, "tags", "planted", "build tags of the server")
	c.Flags().DurationVar(&f.length, "for", 30*time.Minute, "how long to measure")
	c.Flags().DurationVar(&f.within, "within", 90*time.Second, "measuring that each comparison may take")
	c.Flags().IntVar(&f.drawn, "drawn", 200, "comparisons of each kind from blocks drawn at random, beside the disjoint ones")
	jsonFlag(c, &f.json)
	return c
}

// bankDocument says what the arms of a bank are. It is written before the first segment.
type bankDocument struct {
	Version  int         `json:"version"`
	Scenario string      `json:"scenario"`
	Server   string      `json:"server"` // SHA-256 of the binary: a bank is of one
	Slow     []gate.Slow `json:"slow"`
}

func (f *selfTestFlags) run(c *cobra.Command, args []string) error {
	if f.length < 0 || f.within <= 0 || f.drawn < 0 || f.drawn > 10_000 {
		return fmt.Errorf("--for %v, --within %v, --drawn %d: use times that are not negative, and 0 to 10000 comparisons", f.length, f.within, f.drawn)
	}
	if f.length > 0 {
		if err := f.measure(c, args); err != nil {
			return err
		}
	}
	test, err := f.judge()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(test, "", "  ")
	if err != nil {
		return fmt.Errorf("write the self-test: %w", err)
	}
	data = append(data, '\n')
	for _, dir := range slices.DeleteFunc([]string{f.bank, f.publish}, func(dir string) bool { return dir == "" }) {
		if err := result.WriteFile(filepath.Join(dir, selfTestData), data); err != nil {
			return err
		}
		page := filepath.Join(dir, selfTestPage)
		if err := result.WriteFile(page, []byte(report.SelfTestPage(test))); err != nil {
			return err
		}
		say(c.ErrOrStderr(), "%s", page)
	}
	for _, t := range test.Trials {
		kind := "drawn"
		if t.Disjoint {
			kind = "disjoint"
		}
		say(c.ErrOrStderr(), "%s: regressed in %d of %d %s comparisons of %d blocks", t.Arm, t.Regressed, t.Comparisons, kind, t.Blocks)
	}
	if f.json {
		if _, err := c.OutOrStdout().Write(data); err != nil {
			return fmt.Errorf("print the self-test: %w", err)
		}
	}
	return nil
}

// measure adds segments to the bank.
func (f *selfTestFlags) measure(c *cobra.Command, args []string) (err error) {
	ctx, stderr := c.Context(), c.ErrOrStderr()
	b, err := newBuilder(ctx, f.tags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close(ctx)) }()
	one := compareFlags{scenario: f.scenario}
	s, err := one.load(c, b.root)
	if err != nil {
		return err
	}
	s.Captures = nil
	say(stderr, "building the server with the tags %q", f.tags)
	built, err := b.workingTree(ctx, "selftest")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.bank, 0o755); err != nil {
		return fmt.Errorf("make the bank's folder: %w", err)
	}
	m := &selfTestMeasuring{bank: f.bank, scenario: s, server: built, stderr: stderr, interleave: run.Interleave, options: run.ArmsOptions{
		Options: run.Options{Out: f.bank, Command: args, Progress: stderr, Terminal: isTerminal(stderr), Columns: columns(stderr)},
	}}
	return m.until(ctx, time.Now().Add(f.length))
}

// selfTestMeasuring is a bank under way.
type selfTestMeasuring struct {
	bank     string
	scenario *scenario.Scenario
	server   server
	stderr   io.Writer
	options  run.ArmsOptions
	document bankDocument
	// interleave measures arms: that is run.Interleave.
	interleave func(context.Context, *scenario.Scenario, []run.Arm, run.ArmsOptions) (*run.Arms, error)
}

// until adds segments to the bank until the time is up.
func (m *selfTestMeasuring) until(ctx context.Context, deadline time.Time) error {
	if err := m.open(ctx); err != nil {
		return err
	}
	for time.Now().Before(deadline) {
		m.options.For = time.Until(deadline)
		if _, err := m.segment(ctx, segmentBlocks, m.arms()); err != nil {
			return err
		}
	}
	return nil
}

// open reads what the arms of the bank are, or finds out what they must be.
func (m *selfTestMeasuring) open(ctx context.Context) error {
	sum := observe.Build(m.server.path).Server
	path := filepath.Join(m.bank, bankFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		m.document = bankDocument{Version: gate.SelfTestVersion, Scenario: m.scenario.Name, Server: sum}
		return m.begin(ctx, path)
	}
	if err != nil {
		return fmt.Errorf("read the bank: %w", err)
	}
	if err := json.Unmarshal(data, &m.document); err != nil {
		return fmt.Errorf("read %s: corrupt: %w", path, err)
	}
	if m.document.Server != sum || m.document.Scenario != m.scenario.Name {
		return fmt.Errorf("the bank in %s is of another build or scenario: name a new folder with --bank", m.bank)
	}
	return nil
}

// begin finds out how much computing for each task costs how much of the rate, and stores what the arms will be. A time that the
// server computes for each task makes each cycle longer by a part of it that depends on what else the cycle waits for; that
// part is measured at a loss large enough to be seen in a few blocks.
func (m *selfTestMeasuring) begin(ctx context.Context, path string) error {
	say(m.stderr, "finding out what computing for each task costs")
	plain := run.Arm{Name: "plain", Server: m.server.path, Build: &m.server.build}
	twin := plain
	twin.Name = "twin"
	found, err := m.trial(ctx, 2, plain, twin)
	if err != nil {
		return err
	}
	rate := summaryOf(found[0])
	spin := trialShare / (1 - trialShare) / rate
	slow := plain
	slow.Name, slow.Env = "slow", []string{planted(spin)}
	if found, err = m.trial(ctx, trialBlocks, plain, slow); err != nil {
		return err
	}
	logs, err := stat.LogRatios(rates(found[1]), rates(found[0]))
	if err != nil {
		return err
	}
	ratio, err := stat.PairedRatio(logs, 0)
	if err != nil {
		return err
	}
	longer := 1/ratio.Center - 1 // of a cycle's time
	if ratio.High >= 1 || longer <= 0 {
		return fmt.Errorf("the server is not slower (%.3f, %.3f to %.3f) where it computes %.0f ns more for each task: was it built with planted faults?",
			ratio.Center, ratio.Low, ratio.High, spin*1e9)
	}
	for _, loss := range []float64{0.05, 0.10} {
		m.document.Slow = append(m.document.Slow, gate.Slow{
			Arm: fmt.Sprintf("slow-%.0f", 100*loss), Loss: loss, Planted: planted(spin * loss / (1 - loss) / longer),
		})
	}
	data, err := json.MarshalIndent(m.document, "", "  ")
	if err != nil {
		return fmt.Errorf("write the bank: %w", err)
	}
	return result.WriteFile(path, append(data, '\n'))
}

// planted makes a server built with planted faults compute so many seconds for each task.
func planted(seconds float64) string {
	return fmt.Sprintf("PRONY_PLANTED=cpu:%dns", max(1, int(seconds*1e9+0.5)))
}

// trial measures some blocks aside, which are no part of the bank.
func (m *selfTestMeasuring) trial(ctx context.Context, blocks int, arms ...run.Arm) (_ []result.Arm, err error) {
	dir, err := os.MkdirTemp("", "prony-trial-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for a trial: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	aside := *m
	aside.options.Out, aside.options.For = dir, 0
	return aside.segment(ctx, blocks, arms)
}

// segment measures some blocks of arms. A segment whose rounds are not all sound is an error where that is the server's doing.
func (m *selfTestMeasuring) segment(ctx context.Context, blocks int, arms []run.Arm) ([]result.Arm, error) {
	s := *m.scenario
	s.Rounds = blocks
	measured, err := m.interleave(ctx, &s, arms, m.options)
	if err != nil {
		return nil, err
	}
	for _, a := range measured.Arms {
		if a.Result.Verdict != result.Pass {
			return nil, fmt.Errorf("%s is %s: %v", a.Path, a.Result.Verdict, a.Result.Reasons)
		}
	}
	if measured.Blocks == 0 {
		return nil, fmt.Errorf("no block was sound: %v", measured.Why)
	}
	return measured.Arms, nil
}

func (m *selfTestMeasuring) arms() []run.Arm {
	var arms []run.Arm
	for _, name := range sameArms {
		arms = append(arms, run.Arm{Name: name, Server: m.server.path, Build: &m.server.build})
	}
	for _, slow := range m.document.Slow {
		arms = append(arms, run.Arm{Name: slow.Arm, Server: m.server.path, Build: &m.server.build, Env: []string{slow.Planted}})
	}
	return arms
}

// judge reads all finished segments of the bank, and judges what they tell.
func (f *selfTestFlags) judge() (*gate.SelfTest, error) {
	var document bankDocument
	data, err := os.ReadFile(filepath.Join(f.bank, bankFile))
	if err != nil {
		return nil, fmt.Errorf("read the bank: %w", err)
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("read the bank in %s: corrupt: %w", f.bank, err)
	}
	names := slices.Clone(sameArms)
	for _, s := range document.Slow {
		names = append(names, s.Arm)
	}
	folders, err := os.ReadDir(f.bank) // in the order of their names, which begin with the time
	if err != nil {
		return nil, fmt.Errorf("read the bank: %w", err)
	}
	var segments [][]result.Arm
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		arms, err := readSegment(filepath.Join(f.bank, folder.Name()), names)
		switch {
		case errors.Is(err, os.ErrNotExist): // it was interrupted
		case err != nil:
			return nil, err
		default:
			segments = append(segments, arms)
		}
	}
	if len(segments) == 0 {
		return nil, fmt.Errorf("the bank in %s has no finished segment: measure with --for", f.bank)
	}
	return gate.RunSelfTest(gate.JoinSegments(segments), gate.SelfTestPlan{
		Same: sameArms, Slow: document.Slow, Within: f.within.Seconds(), Drawn: f.drawn, Policy: gate.DefaultPolicy(),
	})
}

// readSegment reads all arms of a segment. It returns os.ErrNotExist for a segment that was not finished.
func readSegment(dir string, names []string) ([]result.Arm, error) {
	var arms []result.Arm
	for _, name := range names {
		a, err := result.ReadArm(name, filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		arms = append(arms, a)
	}
	return arms, nil
}

func rates(a result.Arm) []float64 {
	var values []float64
	for _, r := range a.Result.Rounds {
		values = append(values, r.Metrics[result.CyclesPerS])
	}
	return values
}

func summaryOf(a result.Arm) float64 { return a.Result.Metrics[result.CyclesPerS].Median }
