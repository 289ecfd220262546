// Package prony measures Prony's own server through the driver program, so that it has the same
// overhead as the other targets.
package prony

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/driver/stream"
	"github.com/pronybench/prony/harness/peers/internal/child"
	"github.com/pronybench/prony/harness/peers/internal/peer"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// Target returns the target prony.
func Target() program.Target { return target{} }

const (
	procs        = "procs"
	procsDefault = "1"
)

type target struct{}

// Describe implements program.Target.
func (target) Describe(ctx context.Context) program.Description {
	d := program.Description{
		Name: "prony", Product: "Prony", Client: peer.Module("github.com/pronybench/prony/engine"),
		Guarantees: []program.Guarantee{program.OS, program.Fsync, program.Majority, program.MajorityFsync}, Nodes: []int{1, 3},
		Settings: []program.Setting{
			{Name: "durability", Value: "none at os and majority, else sync", Because: "none acknowledges after the write to the operating system, sync after an fsync"},
			{Name: procs, Value: procsDefault, Because: "GOMAXPROCS of each server. With more, each single command wakes idle threads, which costs CPU time that the generator needs; a scenario may set another number"},
			{Name: "enqueue, claim, complete", Value: "streams of the Go client, with the worker's slots as credits", Because: "the server pushes tasks, and calls of all goroutines share the stream"},
		},
	}
	path, err := topology.FindServer()
	if err == nil {
		d.Version, err = child.Version(ctx, `version\s+(\S+)`, path, "version")
	}
	if err != nil {
		d.Missing = err.Error()
	}
	return d
}

func topologyOf(spec program.LaunchSpec) (t scenario.Topology, err error) {
	settings, err := peer.Settings("prony", map[string]string{procs: procsDefault}, spec.Settings)
	if err != nil {
		return t, err
	}
	gomaxprocs, err := strconv.Atoi(settings[procs])
	if err != nil || gomaxprocs < 1 || gomaxprocs > scenario.ProcsMax {
		return t, fmt.Errorf("setting %s = %q: it is each server's GOMAXPROCS, a number from 1 to %d", procs, settings[procs], scenario.ProcsMax)
	}
	if len(spec.Addresses) > 0 {
		return t, errors.New("target prony takes no address: measure servers on other hosts with topology \"remote\"")
	}
	replicated := spec.Guarantee == program.Majority || spec.Guarantee == program.MajorityFsync
	if replicated != (spec.Nodes > 1) {
		return t, fmt.Errorf("guarantee %q with nodes = %d: majority and majority_fsync need three nodes, and the others one", spec.Guarantee, spec.Nodes)
	}
	t = scenario.Topology{Kind: "single", Shards: 1, Durability: "sync", Listen: "tcp", Procs: gomaxprocs}
	if spec.Guarantee == program.OS || spec.Guarantee == program.Majority {
		t.Durability = "none"
	}
	if replicated {
		t.Kind, t.Nodes, t.Coalesce = scenario.Raft, spec.Nodes, new(true)
	}
	return t, nil
}

// Launch implements program.Target.
func (target) Launch(ctx context.Context, spec program.LaunchSpec) (program.Server, error) {
	t, err := topologyOf(spec)
	if err != nil {
		return nil, err
	}
	binary, err := topology.FindServer()
	if err != nil {
		return nil, err
	}
	cluster, err := topology.Start(ctx, topology.Config{
		Binary: binary, Dir: spec.Folder, LogPath: filepath.Join(spec.Folder, "queued.log"), Topology: t,
	})
	if err != nil {
		return nil, err
	}
	return &server{cluster, spec}, nil
}

type server struct {
	cluster *topology.Cluster
	spec    program.LaunchSpec
}

// PIDs implements program.Server.
func (s *server) PIDs() (pids []int) {
	for _, one := range s.cluster.Servers() {
		if one.Running() {
			pids = append(pids, one.Node().PID)
		}
	}
	return pids
}

// Dial implements program.Server.
func (s *server) Dial(context.Context) (driver.Conn, error) {
	dial := func() (driver.Conn, error) {
		address, _ := s.cluster.Addresses()
		if address == "" {
			return nil, errors.New("the server has not reported its address yet")
		}
		return stream.Dial(driver.Target{Address: address, Token: s.cluster.Token, CA: s.cluster.CA}, s.spec.Lease)
	}
	if s.spec.Nodes > 1 { // a client of a cluster reconnects by itself
		return dial()
	}
	return newReopening(dial)
}

func (s *server) each(call func(*topology.Server) error) error {
	servers := s.cluster.Servers()
	errs := make([]error, len(servers))
	var calls sync.WaitGroup
	for i, one := range servers {
		calls.Go(func() { errs[i] = call(one) })
	}
	calls.Wait()
	return errors.Join(errs...)
}

// Kill implements program.Server.
func (s *server) Kill(context.Context) error { return s.each((*topology.Server).Kill) }

// Restart implements program.Server.
func (s *server) Restart(ctx context.Context) error {
	if err := s.each(func(one *topology.Server) error { return one.Start(ctx) }); err != nil {
		return err
	}
	return s.each(func(one *topology.Server) error { return one.WaitReady(ctx) })
}

// Stop implements program.Server.
func (s *server) Stop(ctx context.Context) error { return s.cluster.Stop(ctx) }
