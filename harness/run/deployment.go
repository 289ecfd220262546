package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/pronybench/prony/harness/audit"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// DeploymentOptions say where and how servers are deployed.
type DeploymentOptions struct {
	Folder  string   // where servers, logs and the account of the current window are kept; made if need be
	Server  string   // the queued binary
	Command []string // the exact command, for the manifest
	// Progress and Terminal are as in Options.
	Progress io.Writer
	Terminal bool

	bootID func() (string, error) // nil: the kernel's
}

// Deployment is servers that stay up while windows are measured on them, one after the other. Each window has an account of its own,
// which is closed before the next window: nothing is left on the servers then that could be delivered. Servers, data and the account of
// a window outlive this process in a folder, so that another one goes on after a crash of any of them. Its methods must not be called at
// the same time.
type Deployment struct {
	options   DeploymentOptions
	runner    *runner
	cluster   *topology.Cluster
	injection *injection
	warm      bool // a window was measured since the servers' last start
	keep      bool
}

// DeploymentWindow is what was measured in one window.
type DeploymentWindow struct {
	Round      result.Round
	Histograms result.Histograms // empty of a window that was cut short
	Workloads  []result.WorkloadHistograms
	Warnings   []string
	Processes  []ProcessSample // at the window's end, after its drain: this process first, then the servers that run
	Ends       []ServerEnd     // of servers that ended by themselves, before or in the window, or while it drained
	// Interrupted is set if the window has no figures: a server ended in it by itself, its load could not go on, or its process died. The
	// round is invalid then, or incorrect. Its account is closed.
	Interrupted bool
}

// Deploy starts the servers of a scenario, or resumes those that the folder holds, of the same topology. After a crash in a window,
// Recover must be called before Measure.
func Deploy(ctx context.Context, s *scenario.Scenario, o DeploymentOptions) (*Deployment, error) {
	d, err := deploy(ctx, s, o)
	if err != nil {
		return nil, fmt.Errorf("deploy servers in %s: %w", o.Folder, err)
	}
	return d, nil
}

func deploy(ctx context.Context, s *scenario.Scenario, o DeploymentOptions) (*Deployment, error) {
	if err := deployable(s); err != nil {
		return nil, err
	}
	if o.bootID == nil {
		o.bootID = bootID
	}
	if err := os.MkdirAll(o.Folder, 0o755); err != nil {
		return nil, err
	}
	folder, err := result.Open(o.Folder)
	if err != nil {
		return nil, err
	}
	r, err := newRunner(s, Options{Server: o.Server, Command: o.Command, Progress: o.Progress, Terminal: o.Terminal}, folder, time.Now(), observe.Host)
	if err != nil {
		return nil, err
	}
	d := &Deployment{options: o, runner: r}
	config := topology.Config{
		Binary: o.Server, Topology: s.Topology, Keep: folder.Path(), LogPath: folder.File(filepath.Join(logsDir, "server.log")),
	}
	d.injection = newInjection(s, &config)
	kept, err := topology.Kept(folder.Path())
	if err == nil {
		start := topology.Start
		if kept {
			start = topology.Resume
		}
		d.cluster, err = start(ctx, config)
	}
	if err != nil {
		return nil, errors.Join(err, d.injection.close())
	}
	r.recordServers(d.cluster, 0)
	return d, nil
}

// deployable refuses what a deployment can't measure.
func deployable(s *scenario.Scenario) error {
	refuse := func(is bool, what, remedy string) error {
		if !is {
			return nil
		}
		return fmt.Errorf("scenario %q has %s, which can't be measured window after window on the same servers: %s", s.Name, what, remedy)
	}
	some := func(is func(scenario.Workload) bool) bool { return scenario.Any(s.Workloads, is) }
	return errors.Join(
		refuse(s.Topology.Kind == scenario.Embedded || s.Topology.Kind == scenario.NoTopology || s.Topology.Kind == scenario.Remote || s.Topology.Kind == scenario.ByProgram,
			fmt.Sprintf("the topology %q", s.Topology.Kind), "use one whose servers are processes of this host"),
		refuse(s.Topology.Hosts != nil, "hosts for its nodes", "remove the block"),
		refuse(len(s.Points) > 0, "a sweep", "remove it"),
		refuse(s.Backlog != nil, "a backlog", "remove it"),
		refuse(s.Attack != nil, "an attack", "remove it"),
		refuse(s.Observe != nil, "an observe block", "remove it"),
		refuse(some(func(w scenario.Workload) bool { return w.Driver == scenario.DriverK6 }), `the driver "k6"`, "use one of the harness's own"),
		refuse(some(scenario.Workload.ReadsTasks), "a workload with reads", "remove them"),
		refuse(some(scenario.Workload.FailsTasks), "a workload with fail", "remove it"),
		refuse(some(scenario.Workload.RepeatsKeys), "a workload with key", "remove it"),
		refuse(some(scenario.Workload.ExtendsLeases), "a workload with extend", "remove it"),
		refuse(some(func(w scenario.Workload) bool { return !w.Result.IsZero() }), "a workload with result", "remove it"),
		refuse(some(func(w scenario.Workload) bool { return !w.Delay.IsZero() }), "a workload with delay", "remove it"),
		refuse(some(func(w scenario.Workload) bool { return w.Arrivals.OfPeak() }), "a rate that is a part of the peak", "write it as tasks a second"),
	)
}

// Manifest describes what is measured: the host, the builds, the scenario, and the settings of the servers.
func (d *Deployment) Manifest() result.Manifest { return d.runner.result.Manifest }

// Keep makes Close leave the servers' data, and the account of a window that was interrupted, for the next Deploy.
func (d *Deployment) Keep() { d.keep = true }

// Close stops the servers, and removes their data unless Keep was called. The logs stay.
func (d *Deployment) Close(ctx context.Context) error {
	err := errors.Join(d.cluster.Stop(context.WithoutCancel(ctx)), d.injection.close())
	if !d.keep {
		for _, dir := range []string{topology.KeptDir, windowDir, result.DataDir} {
			err = errors.Join(err, removeData(d.runner.folder.File(dir)))
		}
	}
	return err
}

// Measure measures one window: its load, with the faults of the scenario or without, its drain and its account. It warms up before the
// first window since a start of a server. Meanwhile the account is checkpointed once a second, and each completion that is asked for is
// noted before, so that Recover can close the account if this process dies.
//
// A server that ends by itself, which no fault made end, cuts the window short: figures of a time without one of the servers would stand
// for nothing. The server is started again, what is left of the window's tasks is drained, and the account is closed with all that this
// process knows. The round is incorrect if the server ended for a reason of its own, as after a panic, and invalid if SIGKILL ended it,
// which comes from outside.
//
// The error is for what keeps further windows from being measured: ctx ended, a server does not start again, or the servers hold tasks
// of earlier windows. If ctx ended in the window, its account is kept for Recover.
func (d *Deployment) Measure(ctx context.Context, number int, faults bool) (DeploymentWindow, error) {
	w, err := d.measure(ctx, number, faults)
	if err != nil {
		err = fmt.Errorf("window %d: %w", number, err)
	}
	return w, err
}

func (d *Deployment) measure(ctx context.Context, number int, faults bool) (w DeploymentWindow, err error) {
	if _, found, err := readWindow(d.windowPath()); err != nil || found {
		return w, errors.Join(err, errors.New("the account of an earlier window is open: recover it first"))
	}
	if err := d.revive(ctx, &w); err != nil {
		return w, err
	}
	r := d.windowRunner(faults)
	if r.before, err = audit.Read(ctx, d.cluster); err != nil {
		return w, err
	}
	if n := r.before.Deliverable(); n > 0 {
		return w, fmt.Errorf("the servers hold %d tasks of earlier windows: their accounts did not close, or others use the servers", n)
	}
	p := plannedRound{number: number, kind: timed}
	defer useProcs(r.scenario.Workloads[0].Procs)()
	loads := newLoads(r, d.cluster, p)
	m := measured{round: newRound(p)}
	accounts, err := openWindow(d.windowPath(), openAccount{Number: number, Started: m.round.Started, Before: r.before}, d.options.bootID, loads.accounts)
	if err != nil {
		return w, err
	}
	loads.settle = func(ctx context.Context, m *measured) error { return d.settle(ctx, loads, m) }
	r.loadOn(ctx, loads, p, d.injection.again(r.scenario.Faults), nil, &m)
	if ctx.Err() != nil {
		return w, errors.Join(ctx.Err(), accounts.close())
	}
	d.warm = !m.broken
	w.Warnings = r.warningsOfUnknown()
	if m.broken {
		w.Interrupted = true
		if err := d.mend(ctx, loads, &m, &w); err != nil {
			return w, errors.Join(err, accounts.close())
		}
	}
	return w, d.finish(ctx, accounts, &m, &w)
}

// windowRunner is the runner of one window.
func (d *Deployment) windowRunner(faults bool) *runner {
	r, s := *d.runner, *d.runner.scenario
	if !faults {
		s.Faults = nil
	}
	if d.warm {
		s.Phases.Warmup, s.Phases.WarmupMax = 0, 0
	}
	r.scenario = &s
	return &r
}

// finish closes a window's account, whose tasks are drained, and fills in what was measured.
func (d *Deployment) finish(ctx context.Context, accounts *windowAccounts, m *measured, w *DeploymentWindow) error {
	if err := accounts.close(); err != nil {
		m.fault(result.Invalid, err.Error())
	}
	if err := removeData(d.windowPath()); err != nil {
		return err
	}
	w.Round, w.Histograms, w.Workloads, w.Warnings = m.round, m.histograms, m.ofWorkloads, append(w.Warnings, m.warnings...)
	var err error
	w.Processes, err = d.processes(ctx)
	return err
}
