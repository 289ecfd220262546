package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/soak"
	"github.com/pronybench/prony/harness/topology"
)

// soakServers describes how the servers of a soak are started.
type soakServers struct {
	binary  string // path of queued
	dir     string // data and logs of the servers, and the account of the current window
	command []string
}

// deployment starts the servers of a soak, or takes over those that an earlier process left
// running.
type deployment func(ctx context.Context, s *scenario.Scenario, servers soakServers) (soak.Stand, error)

type soakFlags struct {
	folder, listen string
	measure        time.Duration // 0: as the file says
	json           bool
	vars           vars
}

func soakCommand(args []string, deploy deployment) *cobra.Command {
	var f soakFlags
	c := &cobra.Command{
		Use:   "soak FILE",
		Short: "Measure servers over hours or weeks, and report figures that drift",
		Long: `Measures one window after the other on the same servers, until the measured time reaches the soak block's value or --for.
The load drains between two windows, so each window's account of tasks closes separately.

All data is stored in a folder of bounded size. After a crash of prony, of a server or of the host, the same command continues
the soak. It starts a soak if the folder is empty or does not exist, continues an unfinished one with the same configuration,
and refuses any other folder. SIGINT and SIGTERM stop the servers in order and keep their data.

After each window it writes report.html in the folder, with the results so far. --listen serves that page, and metrics for
Prometheus under /metrics, on the loopback interface unless the address has another one.

At the end, each of rate, latency, memory, descriptors, goroutines and disk passes if the 95 % bound of its change for the
worse is below its limit. The folder then has report.md and soak.json.`,
		Example: `  prony soak scenarios/soak/steady.hcl
  prony soak --folder runs/week --for 168h --listen 9100 scenarios/soak/steady.hcl
  prony soak --json scenarios/soak/cluster-faults.hcl`,
		Args:              scenarioFiles.check,
		ValidArgsFunction: completeScenarioFiles,
		RunE: func(c *cobra.Command, files []string) error {
			if err := f.check(c.Flags().Changed("for")); err != nil {
				return err
			}
			document, err := f.soak(c.Context(), args, files, deploy, c.ErrOrStderr())
			return finish(c, f.json, document, err)
		},
	}
	c.Flags().StringVar(&f.folder, "folder", "", "folder of the soak (default runs/ and the scenario's name)")
	c.Flags().DurationVar(&f.measure, "for", 0, "time to measure, instead of the file's")
	c.Flags().StringVar(&f.listen, "listen", "", "port or address for the page and /metrics")
	f.vars.flag(c)
	jsonFlag(c, &f.json)
	return c
}

// check checks the flags before any file is read. given is true if --for was given.
func (f *soakFlags) check(given bool) (err error) {
	if given && f.measure <= 0 {
		return fmt.Errorf("--for %v must be above 0: give the time to measure, such as --for 2h", f.measure)
	}
	if f.listen != "" {
		if f.listen, err = soak.ListenAddress(f.listen); err != nil {
			return fmt.Errorf("--listen: %w", err)
		}
	}
	return nil
}

// theSoak returns the only scenario of a file, which must be a soak.
func (f *soakFlags) theSoak(files []string) (*scenario.Scenario, error) {
	if len(files) != 1 {
		return nil, fmt.Errorf("prony soak measures one scenario, but %d files are given: name one", len(files))
	}
	scenarios, err := f.vars.load(files)
	if err != nil {
		return nil, err
	}
	if len(scenarios) != 1 {
		return nil, fmt.Errorf("prony soak measures one scenario, but %s has %d: move the others to separate files", files[0], len(scenarios))
	}
	s := scenarios[0]
	if s.Soak == nil {
		return nil, fmt.Errorf("scenario %q of %s has no soak block: add soak { for = \"20m\" }, or use prony run %s", s.Name, s.File, s.File)
	}
	if err := s.BuildProblem("prony soak"); err != nil {
		return nil, err
	}
	if f.measure == 0 {
		f.measure = s.Soak.For
	}
	if f.measure < s.Phases.Window {
		return nil, fmt.Errorf("--for %v must be at least one window of %v", f.measure, s.Phases.Window)
	}
	return s, nil
}

func (f *soakFlags) soak(ctx context.Context, args, files []string, deploy deployment, stderr io.Writer) (document *result.Document, err error) {
	s, err := f.theSoak(files)
	if err != nil {
		return nil, err
	}
	server, err := topology.FindServer()
	if err != nil {
		return nil, err
	}
	if f.folder == "" {
		f.folder = filepath.Join(defaultOut, result.Slug(s.Name))
	}
	publish := func(soak.Status) {}
	if f.listen != "" {
		page, listenErr := soak.Serve(f.listen)
		if listenErr != nil {
			return nil, listenErr
		}
		defer func() { err = errors.Join(err, page.Close()) }()
		say(stderr, "%s: page at %s, metrics at %smetrics", s.Name, page.URL(), page.URL())
		publish = page.Publish
	}
	var measured *result.Soak
	err = during(stderr, s.Name, func(a *activity) error {
		steps := &soakSteps{activity: a, terminal: isTerminal(stderr), now: time.Now}
		measured, err = soak.Run(ctx, soak.Options{
			Folder: f.folder, Scenario: s, For: f.measure,
			Deploy: func(ctx context.Context, dir string) (soak.Stand, error) {
				return deploy(ctx, s, soakServers{binary: server, dir: dir, command: args})
			},
			Say: func(format string, args ...any) { say(a, format, args...) }, Step: steps.step, Publish: publish,
		})
		return err
	})
	if measured == nil {
		return nil, err
	}
	outcome := result.NewSoakOutcome(measured, f.folder)
	if err != nil {
		saySoak(stderr, measured, outcome)
		say(stderr, "%s: not finished; the same command continues it", s.Name)
		return result.NewDocument(outcome), err
	}
	written, err := report.Render(nil, f.folder, f.folder)
	if err != nil { // the figures are stored, so a missing page is only a warning
		outcome.Warnings = append(outcome.Warnings, fmt.Sprintf("no page: %v", err))
	} else {
		outcome.Page = written[0]
	}
	saySoak(stderr, measured, outcome)
	return result.NewDocument(outcome), nil
}

func saySoak(w io.Writer, s *result.Soak, outcome result.Outcome) {
	say(w, "%s: %s after %s, %v measured, %s cycles, %s at fault", s.Scenario, s.Verdict, render.Plural(s.Totals.Windows, "window"),
		time.Duration(s.MeasuredS*float64(time.Second)).Round(time.Second), render.Count(s.Totals.Cycles), render.Plural(int(s.Totals.Ledger.AtFault()), "task"))
	for _, d := range s.Drifts {
		say(w, "  %-12s  %s", d.Verdict, d.Sentence)
	}
	for _, text := range append(outcome.Reasons, outcome.Warnings...) {
		if !isSentenceOf(s.Drifts, text) {
			say(w, "  %s", text)
		}
	}
	if outcome.Page != "" {
		say(w, "%s: page %s", s.Scenario, outcome.Page)
	}
}

func isSentenceOf(drifts []result.SoakDrift, text string) bool {
	for _, d := range drifts {
		if d.Sentence == text {
			return true
		}
	}
	return false
}

// soakLineEvery is the interval between progress lines without a terminal.
const soakLineEvery = 10 * time.Minute

// soakSteps shows the progress of windows: every window on a terminal, otherwise
// one window per soakLineEvery.
type soakSteps struct {
	*activity

	terminal bool
	now      func() time.Time
	last     time.Time // time of the last line
}

func (p *soakSteps) step(status soak.Status) {
	w := status.Latest
	if w == nil {
		return
	}
	line := fmt.Sprintf("window %d, %s of %s measured, about %v left, %s so far", w.Number,
		time.Duration(status.Soak.MeasuredS*float64(time.Second)).Round(time.Second), time.Duration(status.Soak.ForS*float64(time.Second)),
		status.Left.Round(time.Second), status.Soak.Verdict)
	if w.Round.WindowSeconds > 0 && !w.Cut {
		line += fmt.Sprintf(", %s cycles/s", render.Number(float64(w.Round.Cycles)/w.Round.WindowSeconds))
	}
	if p.terminal {
		p.activity.step("%s", line)
		return
	}
	if now := p.now(); now.Sub(p.last) >= soakLineEvery {
		p.last = now
		say(p.activity, "  %s", line)
	}
}
