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

// DeploymentOptions configures where and how servers are deployed.
type DeploymentOptions struct {
	// Folder contains the servers' data, the logs and the account of the current window. It is
	// created if it does not exist.
	Folder  string
	Server  string   // path of the queued binary
	Command []string // the exact command, for the manifest
	// Progress and Terminal are as in Options.
	Progress io.Writer
	Terminal bool

	bootID func() (string, error) // nil reads the boot ID of the kernel
}

// Deployment is a set of servers that remain up while windows are measured on them one after the
// other. Each window has a separate account, which is closed before the next window starts. When it
// is closed, the servers contain no deliverable task. The servers, their data and the account of a
// window outlive this process in a folder. After a crash of this process or of a server, another
// process can continue. The methods must not be called concurrently.
type Deployment struct {
	options   DeploymentOptions
	runner    *runner
	cluster   *topology.Cluster
	injection *injection
	warm      bool // a window was measured since the servers last started
	keep      bool
}

// DeploymentWindow is the outcome of one window.
type DeploymentWindow struct {
	Round      result.Round
	Histograms result.Histograms // empty if the window was cut short
	Workloads  []result.WorkloadHistograms
	Warnings   []string
	// Processes contains a sample of each process at the end of the window, after its drain: first
	// this process, then the running servers.
	Processes []ProcessSample
	// Ends are the unplanned ends of servers before the window, in the window or during its drain.
	Ends []ServerEnd
	// Interrupted is set if the window has no figures because a server ended unplanned, the load
	// failed, or the measuring process died. The round is then invalid or incorrect. Its account is
	// closed.
	Interrupted bool
}

// Deploy starts the servers of a scenario. If the folder contains servers, Deploy resumes them;
// they must have the same topology. After a crash during a window, callers must call Recover before
// Measure.
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

// deployable returns an error that lists the features of the scenario that a deployment cannot
// measure.
func deployable(s *scenario.Scenario) error {
	refuse := func(is bool, what, remedy string) error {
		if !is {
			return nil
		}
		return fmt.Errorf("scenario %q has %s, which cannot be measured in successive windows on the same servers: %s", s.Name, what, remedy)
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
		refuse(s.Recurring != nil, "recurring tasks", "remove the block"),
		refuse(some(func(w scenario.Workload) bool { return w.Driver == scenario.DriverK6 }), `the driver "k6"`, "use a driver of the harness"),
		refuse(some(scenario.Workload.ReadsTasks), "a workload with reads", "remove them"),
		refuse(some(scenario.Workload.FailsTasks), "a workload with fail", "remove it"),
		refuse(some(scenario.Workload.RepeatsKeys), "a workload with key", "remove it"),
		refuse(some(scenario.Workload.HasHeaders), "a workload with headers", "remove it"),
		refuse(some(scenario.Workload.CancelsTasks), "a workload with cancel", "remove it"),
		refuse(some(func(w scenario.Workload) bool { return w.FinalTasks }), "a workload with final_tasks", "remove it"),
		refuse(some(scenario.Workload.HasUniqueKeys), "a workload with unique", "remove it"),
		refuse(some(scenario.Workload.ExtendsLeases), "a workload with extend", "remove it"),
		refuse(some(func(w scenario.Workload) bool { return !w.Result.IsZero() }), "a workload with result", "remove it"),
		refuse(some(func(w scenario.Workload) bool { return !w.Delay.IsZero() }), "a workload with delay", "remove it"),
		refuse(some(func(w scenario.Workload) bool { return w.Arrivals.OfPeak() }), "a rate that is a part of the peak", "write it as tasks a second"),
	)
}

// Manifest describes the host, the builds, the scenario and the settings of the servers.
func (d *Deployment) Manifest() result.Manifest { return d.runner.result.Manifest }

// Keep makes Close preserve the servers' data, and the account of an interrupted window, for the
// next Deploy.
func (d *Deployment) Keep() { d.keep = true }

// Close stops the servers and removes their data unless Keep was called. The logs remain.
func (d *Deployment) Close(ctx context.Context) error {
	err := errors.Join(d.cluster.Stop(context.WithoutCancel(ctx)), d.injection.close())
	if !d.keep {
		for _, dir := range []string{topology.KeptDir, windowDir, result.DataDir} {
			err = errors.Join(err, removeData(d.runner.folder.File(dir)))
		}
	}
	return err
}

// Measure measures one window: its load, with the faults of the scenario if faults is true, its
// drain and its account. Before the first window after a start of a server it warms up. During the
// window the account is checkpointed once a second, and each completion is journaled before it is
// requested. If this process dies, Recover can therefore close the account.
//
// If a server ends unplanned, the window is cut short, because figures measured without one of the
// servers would be meaningless. Measure then starts the server again, drains the remaining tasks of
// the window, and closes the account from everything that this process knows. If the server ended
// for an internal reason such as a panic, the round is incorrect. If SIGKILL ended the server, the
// reason is external, and the round is invalid.
//
// An error means that no further window can be measured: ctx is done, a server does not start
// again, or the servers contain tasks of earlier windows. If ctx is done during the window, the
// account is preserved for Recover.
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
		return w, fmt.Errorf("the servers hold %d tasks of earlier windows, expected none: their accounts did not close, or other clients use the servers", n)
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

// windowRunner returns a copy of the runner for one window. If faults is false, the copy injects no
// faults. If the servers are warm, it has no warm-up.
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

// finish closes the account of a drained window and fills in w.
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
