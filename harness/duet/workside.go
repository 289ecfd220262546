package duet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/generator"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// workTimeout bounds the fixed work of one side, its processes' start included.
const workTimeout = 2 * time.Minute

// workEnv are settings of the servers' runtime. Collections empty the pools of buffers at times of their own, so there are none below the
// memory limit, which the fixed work does not reach.
var workEnv = []string{"GOGC=off", "GOMEMLIMIT=1GiB"}

// workCounts are what the servers of one side counted for the fixed work.
type workCounts struct {
	cycles          uint64
	counters, shown map[string]float64 // by the names of result.WorkCounter, and of what is shown only
	warnings        []string
}

// workTopology is a topology at the settings of fixed work: commits wait for their fsyncs, so that these are as many as the commits, and
// a server has one processor, as the client does. Connections are not encrypted: what encryption allocates depends on timing.
func workTopology(t scenario.Topology) scenario.Topology {
	t.Durability, t.SyncInterval, t.BusyPoll, t.TLS, t.Procs, t.DefaultSettings = "sync", 0, false, false, 1, false
	return t
}

// workSide starts servers of a side on empty folders and a generator, has fixed work done, and returns what the servers counted
// meanwhile. None of the processes is left.
func (c *conductor) workSide(ctx context.Context, side, try int, cycles uint64) (counts workCounts, err error) {
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	s := c.sides[side]
	log := func(of string) string {
		return c.folder.File(filepath.Join(logsDir, fmt.Sprintf("%s-%s-work-%d.log", of, s.Name, try)))
	}
	cluster, err := topology.Start(ctx, topology.Config{
		Binary: s.Servers[0], Dir: c.folder.File(result.DataDir), LogPath: log("server"), Topology: workTopology(c.scenario.Topology),
		Env: slices.Concat(s.Env, workEnv),
	})
	if err != nil {
		return counts, err
	}
	defer func() { err = errors.Join(err, cluster.Stop(context.WithoutCancel(ctx))) }()
	load, err := generator.StartIdle(generator.Command{
		Binary: s.Generator, Args: s.GeneratorArgs, Env: append(slices.Clone(s.GeneratorEnv), "GOMAXPROCS=1"), LogPath: log("generator"),
	})
	if err != nil {
		return counts, err
	}
	defer func() { err = errors.Join(err, load.Kill()) }()
	w := &workRun{cluster: cluster}
	if err := w.lead(ctx); err != nil {
		return counts, err
	}
	spec := generator.WorkSpec{Target: generator.Target{Address: w.addresses, Token: cluster.Token, CA: cluster.CA}, Seed: workSeed + 1, Cycles: workWarmUp}
	if _, err := load.Work(ctx, spec); err != nil {
		return counts, err
	}
	var readings [3]workReading // the second one costs what one reading costs
	for i := range readings {
		if i == len(readings)-1 {
			spec.Seed, spec.Cycles = workSeed, cycles
			if counts.cycles, err = load.Work(ctx, spec); err != nil {
				return counts, err
			}
		}
		if readings[i], err = w.read(ctx); err != nil {
			return counts, err
		}
	}
	if err := w.sameLeaders(ctx); err != nil {
		return counts, err
	}
	counts.counters, counts.shown, counts.warnings = w.counts(readings)
	return counts, nil
}

// workRun is the servers of one side that do fixed work.
type workRun struct {
	cluster   *topology.Cluster
	addresses string   // the leader's first: unary calls then need no second hop
	leaders   []string // by shard; "" without a cluster
}

// lead finds the shards' leaders.
func (w *workRun) lead(ctx context.Context) (err error) {
	if w.leaders, err = w.cluster.Leaders(ctx); err != nil {
		return err
	}
	var addresses []string
	for _, s := range w.cluster.Servers() {
		if s.ID != "" && s.ID == w.leaders[0] {
			addresses = slices.Insert(addresses, 0, s.Node().Address)
		} else {
			addresses = append(addresses, s.Node().Address)
		}
	}
	w.addresses = strings.Join(addresses, ",")
	return nil
}

// sameLeaders returns an error if leaders changed: what servers count then depends on when.
func (w *workRun) sameLeaders(ctx context.Context) error {
	now, err := w.cluster.Leaders(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(now, w.leaders) {
		return fmt.Errorf("the shards were led by %v at the begin of the fixed work and by %v at its end", w.leaders, now)
	}
	return nil
}

// read reads the counters of all servers, which are idle.
func (w *workRun) read(ctx context.Context) (r workReading, err error) {
	for _, s := range w.cluster.Servers() {
		n := s.Node()
		one, err := readServer(ctx, w.cluster.Client(n.Admin), n.PID)
		if err != nil {
			return nil, err
		}
		r = append(r, one)
	}
	return r, nil
}

// WorkKey tells apart the fixed work of scenarios: those with equal keys do the same work on the same servers.
func WorkKey(s *scenario.Scenario) string { return fmt.Sprintf("%+v", workTopology(s.Topology)) }
