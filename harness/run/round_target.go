package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/proc"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// describeMax bounds what a program is asked before the first round.
const describeMax = time.Minute

// targetServers are the servers of a round that a driver program has launched, and the program. All methods do nothing on nil, which stands for a
// round on Prony's own servers.
type targetServers struct {
	program  *program.Process
	launched *program.Launched
	folder   string
}

// FindDriverProgram returns the path of the driver program that comes with Prony: the one that the environment variable PRONY_PEERS names,
// else the one beside the running program, else the one in bin/.
func FindDriverProgram() (string, error) {
	return proc.Binary{Called: "the driver program", File: "prony-peers", Env: "PRONY_PEERS", Make: "peers", Wanted: "prony-peers"}.Find()
}

// programOf returns the path of the driver program of a target.
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

// describeTargets asks the driver programs what the targets of the points are, and leaves those points out whose servers can't be started here.
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
		if at < 0 { // perhaps of another version; the other points are measured
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

// ask starts a program and returns what it can measure.
func (r *runner) ask(ctx context.Context, path string) (all []program.Description, err error) {
	ctx, cancel := context.WithTimeout(ctx, describeMax)
	defer cancel()
	p, err := program.Start(ctx, r.folder.File(filepath.Join(logsDir, "program.log")), path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close(ctx)) }()
	return p.Targets(ctx)
}

// described is a target of a point as the result has it.
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

// launchSpec says what is launched for a point, but for its folder.
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

// launch starts the driver program of a round and has it launch the servers. It returns nil for a round on Prony's own servers. When it fails nothing
// but the log is left.
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

// close stops the servers, ends the program and removes the data.
func (t *targetServers) close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return errors.Join(t.program.Close(ctx), removeData(t.folder))
}

// dial opens the connections of a workload.
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

// pids returns the servers' processes; nil where they run elsewhere.
func (t *targetServers) pids() []int {
	if t == nil {
		return nil
	}
	return t.launched.PIDs()
}

// targetNode is what a fault calls the servers of a target, which it kills all together.
const targetNode = "servers"

// targetFaults is the servers of a target as what faults are injected into.
type targetFaults struct{ *targetServers }

var errKillOnly = errors.New("the servers of a target can be killed only")

// Nodes returns one node, which stands for all servers.
func (targetFaults) Nodes() []string { return []string{targetNode} }

// Leader returns the same.
func (targetFaults) Leader(context.Context) (string, error) { return targetNode, nil }

// Kill ends all servers with SIGKILL.
func (t targetFaults) Kill(string) error { return t.launched.Kill(context.Background()) }

// Start starts the servers on the data that they left, and returns when they serve.
func (t targetFaults) Start(ctx context.Context, _ string) error { return t.launched.Restart(ctx) }

// WaitReady has nothing to wait for: Start returned when the servers served.
func (targetFaults) WaitReady(context.Context, string) error { return nil }

// Stop, Wipe, Pause, Resume, Remove and Add are of faults that targets do not have.
func (targetFaults) Stop(context.Context, string) error   { return errKillOnly }
func (targetFaults) Wipe(string) error                    { return errKillOnly }
func (targetFaults) Pause(string) error                   { return errKillOnly }
func (targetFaults) Resume(string) error                  { return errKillOnly }
func (targetFaults) Remove(context.Context, string) error { return errKillOnly }
func (targetFaults) Add(context.Context, string) error    { return errKillOnly }
