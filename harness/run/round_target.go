package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/proc"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// targetServers contains the servers of a round that a driver program has launched, and the program
// itself. A nil *targetServers means that the round runs on Prony's own servers. On nil, close,
// pids and ownCPU do nothing, and other methods must not be called.
type targetServers struct {
	program  *program.Process
	launched *program.Launched
	folder   string
}

// FindDriverProgram returns the path of Prony's own driver program. The environment variable
// PRONY_PEERS has priority, then the program in the folder of the running program, then the program
// in bin/.
func FindDriverProgram() (string, error) {
	return proc.Binary{Called: "the driver program", File: "prony-peers", Env: "PRONY_PEERS", Make: "peers", Wanted: "prony-peers"}.Find()
}

func programOf(t scenario.Topology) (string, error) {
	if t.Target.Program == "" {
		return FindDriverProgram()
	}
	path, err := filepath.Abs(t.Target.Program)
	if err != nil {
		return "", fmt.Errorf("find the driver program: %w", err)
	}
	return path, nil
}

// describeTargets asks the driver programs to describe the targets of the points. It excludes
// points whose servers cannot be started on this machine.
func (r *runner) describeTargets(ctx context.Context) error {
	said := map[string][]program.Description{}
	for i, p := range r.points {
		if p.Topology.Kind != scenario.ByProgram {
			continue
		}
		path, err := programOf(p.Topology)
		if err != nil {
			return err
		}
		if said[path] == nil {
			if said[path], err = r.ask(ctx, path); err != nil {
				return err
			}
		}
		at := slices.IndexFunc(said[path], func(d program.Description) bool { return d.Name == p.Topology.Target.Name })
		if at < 0 { // the program may have another version; the other points are measured
			r.leave(i, fmt.Sprintf("the driver program %s has no target %q; it has %s", filepath.Base(path), p.Topology.Target.Name, strings.Join(namesOf(said[path]), ", ")))
			continue
		}
		d := said[path][at]
		r.result.Manifest.Targets = append(r.result.Manifest.Targets, described(r.numberOf(i), d, p.Topology))
		if d.Missing != "" && len(p.Topology.Target.Addresses) == 0 {
			r.leave(i, fmt.Sprintf("%s is not here: %s", d.Product, d.Missing))
			continue
		}
		if err := d.Check(r.launchSpec(i)); err != nil {
			r.leave(i, err.Error())
		}
	}
	return nil
}

func namesOf(all []program.Description) (names []string) {
	for _, d := range all {
		names = append(names, d.Name)
	}
	return names
}

func (r *runner) ask(ctx context.Context, path string) (all []program.Description, err error) {
	p, err := program.Start(ctx, r.folder.File(filepath.Join(logsDir, "program.log")), path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close(ctx)) }()
	return p.Targets(ctx)
}

func described(point int, d program.Description, t scenario.Topology) result.Target {
	target := result.Target{
		Point: point, Name: d.Name, Product: d.Product, Version: d.Version, Client: d.Client, Guarantee: t.Durability, Nodes: t.Nodes, Claim: d.Claim,
		Addresses: t.Target.Addresses, Missing: d.Missing, Own: t.ServerSettings(),
	}
	for _, s := range d.Settings {
		target.Settings = append(target.Settings, result.TargetSetting{Name: s.Name, Value: s.Value, Because: s.Because})
	}
	return target
}

// launchSpec returns the specification of the servers of a point. It does not set their folder.
func (r *runner) launchSpec(point int) program.LaunchSpec {
	p := r.points[point]
	spec := program.LaunchSpec{
		Target: p.Topology.Target.Name, Guarantee: program.Guarantee(p.Topology.Durability), Nodes: p.Topology.Nodes,
		Addresses: p.Topology.Target.Addresses, Settings: p.Topology.Settings,
	}
	for _, w := range p.Workloads {
		spec.Batch, spec.Lease = max(spec.Batch, w.EnqueueBatch(), w.ClaimBatch()), max(spec.Lease, w.Lease)
		for tenant := range w.Tenants {
			for queue := range w.QueuesOfTenant() {
				spec.Queues = append(spec.Queues, program.Queue{Tenant: load.TenantName(w.FirstTenant + tenant), Name: load.QueueName(queue)})
			}
		}
	}
	return spec
}

// launch starts the driver program of a round, which launches the servers. It returns nil if the
// round runs on Prony's own servers. If it fails, only the log remains.
func (r *runner) launch(ctx context.Context, p plannedRound) (*targetServers, error) {
	topology := r.points[p.point].Topology
	if topology.Kind != scenario.ByProgram {
		return nil, nil
	}
	path, err := programOf(topology)
	if err != nil {
		return nil, err
	}
	t := &targetServers{folder: filepath.Join(r.data, fmt.Sprintf("target-%02d", p.number))}
	spec := r.launchSpec(p.point)
	if spec.Folder, err = filepath.Abs(t.folder); err != nil {
		return nil, err
	}
	if err := os.Mkdir(t.folder, 0o755); err != nil {
		return nil, fmt.Errorf("make a folder for the target's servers: %w", err)
	}
	t.program, err = program.Start(ctx, r.folder.File(filepath.Join(logsDir, fmt.Sprintf("program-%02d.log", p.number))), path)
	if err != nil {
		return nil, errors.Join(err, removeData(t.folder))
	}
	if t.launched, err = t.program.Launch(ctx, spec); err != nil {
		return nil, errors.Join(err, t.close(context.WithoutCancel(ctx)))
	}
	return t, nil
}

func (t *targetServers) close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return errors.Join(t.program.Close(ctx), removeData(t.folder))
}

func (t *targetServers) dial(ctx context.Context, w scenario.Workload) (conns []driver.Conn, err error) {
	for range w.Connections {
		conn, err := t.launched.Dial(ctx)
		if err != nil {
			for _, c := range conns {
				err = errors.Join(err, c.Close())
			}
			return nil, err
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

func (t *targetServers) pids() []int {
	if t == nil {
		return nil
	}
	return t.launched.PIDs()
}

// targetNode is the name that faults use for the servers of a target. A fault always affects all of
// them.
const targetNode = "servers"

// targetFaults adapts the servers of a target to fault.Cluster. Only the fault kill is supported.
type targetFaults struct{ *targetServers }

var errKillOnly = errors.New("the servers of a target only support the fault kill")

// Nodes returns a single node, which represents all servers.
func (targetFaults) Nodes() []string { return []string{targetNode} }

// Leader returns the name of the single node.
func (targetFaults) Leader(context.Context) (string, error) { return targetNode, nil }

// Kill ends all servers with SIGKILL.
func (t targetFaults) Kill(string) error { return t.launched.Kill(context.Background()) }

// Start starts the servers with their existing data and returns when they are ready.
func (t targetFaults) Start(ctx context.Context, _ string) error { return t.launched.Restart(ctx) }

// WaitReady returns immediately, because Start returns only when the servers are ready.
func (targetFaults) WaitReady(context.Context, string) error { return nil }

// Stop, Wipe, Pause, Resume, Remove and Add return an error, because targets do not support the
// faults that use them.
func (targetFaults) Stop(context.Context, string) error   { return errKillOnly }
func (targetFaults) Wipe(string) error                    { return errKillOnly }
func (targetFaults) Pause(string) error                   { return errKillOnly }
func (targetFaults) Resume(string) error                  { return errKillOnly }
func (targetFaults) Remove(context.Context, string) error { return errKillOnly }
func (targetFaults) Add(context.Context, string) error    { return errKillOnly }
