package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/duet"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report/selftestpage"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
)

// smokeScenario is the scenario that the baselines of CI judge, relative to the root of the
// repository.
var smokeScenario = filepath.Join("scenarios", "smoke.hcl")

type selfTestFlags struct {
	bank, scenario, publish, tags, baselines string
	kinds                                    []string
	length, within                           time.Duration
	drawn                                    int
	json                                     bool
}

func gateCommand(args []string) *cobra.Command {
	c := &cobra.Command{
		Use:   "gate",
		Short: "Measure the error rates of the gate",
		Long: `Do not trust a gate that nobody has seen fail; a gate that fails without cause gets switched off. selftest measures how often
prony compare fails without cause and how often it misses a loss. resample measures how often prony guard fails without cause.`,
		Example: `  prony gate selftest --for 60m
  prony gate resample runs`,
	}
	c.AddCommand(selfTestCommand(args), resampleCommand())
	return c
}

func selfTestCommand(args []string) *cobra.Command {
	var f selfTestFlags
	c := &cobra.Command{
		Use:   "selftest",
		Short: "Measure the gate's false alarms and its power",
		Long: `Builds the server and the load generator of the working tree with planted faults, and measures duets with a known answer, one
look each: builds of the same source, and changes that lose a known part of the rate or of CPU time. The gate judges each of
them, and three together as a duet of three looks. A "regressed" for the same source is a false alarm, any other verdict on a
slower change a miss. One kind has fixed work alone, for the counters; another judges slowed servers by the baselines, as
"prony check" does. The command also measures the real slowdown of the changes.

Each measured piece is stored in the bank's folder, and later self-tests of other commits add to it. The next piece is always of
the kind with the smallest share of its wanted number. An interrupted piece is not stored. The amounts of the faults are
calibrated when they are first needed; remove calibration.json from the bank to calibrate them again. --for 0 only judges
the bank.`,
		Example: `  prony gate selftest --for 60m
  prony gate selftest --for 10m --kinds identical,cpu-5
  prony gate selftest --for 0 --bank reports/selftest --publish reports`,
		Args: noArguments.check,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c, args)
		},
	}
	c.Flags().StringVar(&f.bank, "bank", filepath.Join(defaultOut, "selftest"), "folder of the measured pieces")
	c.Flags().StringVar(&f.scenario, "scenario", "", "file of the scenario to measure, instead of "+compareScenario)
	c.Flags().StringVar(&f.publish, "publish", "", "folder for the page and its data, instead of the bank")
	c.Flags().StringVar(&f.tags, "tags", "planted", "build tags of the servers and the load generator")
	c.Flags().StringVar(&f.baselines, "baselines", defaultBaselines, "folder of the limits that judge slowed servers")
	c.Flags().StringSliceVar(&f.kinds, "kinds", nil, "kinds of change to measure, instead of all: "+strings.Join(kindNames(), ", "))
	c.Flags().DurationVar(&f.length, "for", 30*time.Minute, "measurement time")
	c.Flags().DurationVar(&f.within, "within", 90*time.Second, "duration of one look of a duet")
	c.Flags().IntVar(&f.drawn, "drawn", 200, "trials of each kind with randomly drawn generations, in addition to the disjoint ones")
	jsonFlag(c, &f.json)
	completeFlag(c, "scenario", completeScenarioFiles)
	completeFlag(c, "kinds", oneOf(kindNames()...))
	return c
}

func kindNames() (names []string) {
	for _, k := range gate.SelfTestKinds() {
		names = append(names, k.Name)
	}
	return append(names, gate.CountersKind, gate.CheckKind)
}

func (f *selfTestFlags) check() error {
	if f.length < 0 || f.within <= 0 || f.drawn < 0 || f.drawn > 10_000 {
		return fmt.Errorf("--for %v, --within %v, --drawn %d: times must not be negative, and trials must be 0 to 10000", f.length, f.within, f.drawn)
	}
	for _, kind := range f.kinds {
		if !slices.Contains(kindNames(), kind) {
			return fmt.Errorf("--kinds: %q is not a kind of change: use some of %s", kind, strings.Join(kindNames(), ", "))
		}
	}
	return nil
}

func (f *selfTestFlags) run(c *cobra.Command, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.length > 0 {
		if err := f.measure(c, args); err != nil {
			return err
		}
	}
	test, err := f.judge(c)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(test, "", "  ")
	if err != nil {
		return fmt.Errorf("write the self-test: %w", err)
	}
	data = append(data, '\n')
	page, err := writeSelfTest(cmp.Or(f.publish, f.bank), test, data)
	if err != nil {
		return err
	}
	say(c.ErrOrStderr(), "%s", page)
	for _, k := range test.Kinds {
		for _, t := range k.Trials {
			if t.Disjoint {
				say(c.ErrOrStderr(), "%s: red in %d of %d trials of up to %d looks, pass in %d", k.Name, t.Red(), t.Trials, t.Looks, t.Verdicts[result.Pass])
			}
		}
	}
	if f.json {
		if _, err := c.OutOrStdout().Write(data); err != nil {
			return fmt.Errorf("print the self-test: %w", err)
		}
	}
	return nil
}

// measure adds pieces to the bank.
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
	if err := duet.Fits(s); err != nil {
		return fmt.Errorf("scenario %q cannot be measured as a duet: %w", s.Name, err)
	}
	file, err := relativeTo(b.root, smokeScenario)
	if err != nil {
		return err
	}
	one.scenario = file
	smoke, err := one.load(c, b.root)
	if err != nil {
		return err
	}
	s.Captures, smoke.Captures, smoke.ProfiledRounds = nil, nil, 0
	say(stderr, "building the servers and the load generator with the tags %q", f.tags)
	var built *selfTestBuilt
	err = b.building(stderr, func() (err error) {
		built, err = buildSelfTest(ctx, b)
		return err
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.bank, 0o755); err != nil {
		return fmt.Errorf("make the bank's folder: %w", err)
	}
	m := &selfTestMeasuring{
		bank: f.bank, scenario: s, smoke: smoke, built: *built, within: f.within, kinds: f.kinds, command: args, stderr: stderr,
		now: time.Now, conditions: duet.ConditionsOf(s), duet: duet.Measure, arms: run.Interleave,
	}
	return m.until(ctx, time.Now().Add(f.length))
}

// judge judges the pieces of the bank.
func (f *selfTestFlags) judge(c *cobra.Command) (*gate.SelfTest, error) {
	bank, within, err := readBank(f.bank)
	if err != nil {
		return nil, err
	}
	if bank.left > 0 {
		say(c.ErrOrStderr(), "skipped %d pieces whose scenario, look, slice or phase lengths, or CPU assignment differ from the newest piece", bank.left)
	}
	plan := gate.SelfTestPlan{Within: within, Drawn: f.drawn, Policy: gate.DefaultDuetPolicy()}
	if len(bank.Checks) > 0 {
		if plan.Baselines, err = loadBaselines(f.baselines); err != nil {
			return nil, err
		}
	}
	var test *gate.SelfTest
	err = during(c.ErrOrStderr(), "judging the bank", func(*activity) (err error) {
		test, err = gate.RunSelfTest(bank.SelfTestBank, plan)
		return err
	})
	return test, err
}

const (
	selfTestData = "selftest.json"
	selfTestPage = "selftest.md"
)

// writeSelfTest writes the data, the page and the plot of a self-test to a folder, and returns the
// path of the page.
func writeSelfTest(dir string, test *gate.SelfTest, data []byte) (page string, err error) {
	if err := result.WriteFile(filepath.Join(dir, selfTestData), data); err != nil {
		return "", err
	}
	if plot, err := selftestpage.Plot(test); err == nil { // a bank without a duet has no plot
		if err := result.WriteFile(filepath.Join(dir, selftestpage.PlotFile), plot); err != nil {
			return "", err
		}
	}
	page = filepath.Join(dir, selfTestPage)
	return page, result.WriteFile(page, []byte(selftestpage.Page(test)))
}
