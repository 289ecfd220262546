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

// workTimeout bounds the time for the fixed work of one side, including the start of its processes.
const workTimeout = 2 * time.Minute

// workIdle is how long the servers stay idle before the work. It shows how much they allocate over
// time without work: a server checks its data folder every 250 ms. One check more or less within
// this time is an error that grows with the time that the work takes, so each further try doubles
// the idle time.
const workIdle = time.Second

// workEnv configures the servers' runtime. A garbage collection would empty the buffer pools at an
// unpredictable moment. Therefore collections are disabled below the memory limit, which the fixed
// work does not reach.
var workEnv = []string{"GOGC=off", "GOMEMLIMIT=1GiB"}

// workCounts contains the counters of one side's servers for the fixed work.
type workCounts struct {
	cycles uint64
	// counters contains the counters that have a verdict, and shown contains the values that are
	// only shown. The keys of counters are names of result.WorkCounter.
	counters, shown map[string]float64
	warnings        []string
}

// workTopology returns a copy of a topology with the settings of the fixed work. Commits wait for
// fsync, so that each commit causes an fsync. Servers use one processor, like the client.
// Connections are not encrypted, because the allocations of encryption depend on timing.
func workTopology(t scenario.Topology) scenario.Topology {
	t.Durability, t.SyncInterval, t.BusyPoll, t.TLS, t.Procs, t.DefaultSettings = "sync", 0, false, false, 1, false
	return t
}

// workSide starts servers of a side with empty folders and a generator. It makes them do the fixed
// work, and returns the growth of the servers' counters. It stops all processes.
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
	var r workReadings
	if r.first, r.idle, r.before, err = w.readIdle(ctx, workIdle<<(try-1)); err != nil {
		return counts, err
	}
	spec.Seed, spec.Cycles = workSeed, cycles
	if counts.cycles, err = load.Work(ctx, spec); err != nil {
		return counts, err
	}
	if r.after, err = w.read(ctx); err != nil {
		return counts, err
	}
	if err := w.sameLeaders(ctx); err != nil {
		return counts, err
	}
	counts.counters, counts.shown, counts.warnings = w.counts(r)
	return counts, nil
}

// workRun contains the servers of one side that do the fixed work.
type workRun struct {
	cluster   *topology.Cluster
	addresses string   // the leader's address is first, so that unary calls need no second hop
	leaders   []string // ID of the leader of each shard; "" without a cluster
}

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

// sameLeaders returns an error if a leader has changed since the start of the work. The counters
// would then depend on when it changed.
func (w *workRun) sameLeaders(ctx context.Context) error {
	now, err := w.cluster.Leaders(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(now, w.leaders) {
		return fmt.Errorf("the shards were led by %v at the beginning of the fixed work and by %v at its end", w.leaders, now)
	}
	return nil
}

// readIdle reads the counters of idle servers twice in a row, and again after the given time.
func (w *workRun) readIdle(ctx context.Context, after time.Duration) (first, idle, before workReading, err error) {
	if first, err = w.read(ctx); err != nil {
		return
	}
	if idle, err = w.read(ctx); err != nil {
		return
	}
	select {
	case <-time.After(after):
	case <-ctx.Done():
		return first, idle, before, ctx.Err()
	}
	before, err = w.read(ctx)
	return
}

// read reads the counters of all servers, which must be idle.
func (w *workRun) read(ctx context.Context) (r workReading, err error) {
	r.at = time.Now()
	for _, s := range w.cluster.Servers() {
		n := s.Node()
		one, err := readServer(ctx, w.cluster.Client(n.Admin), n.PID)
		if err != nil {
			return r, err
		}
		r.servers = append(r.servers, one)
	}
	return r, nil
}

// WorkKey returns a key of the fixed work of a scenario. Scenarios with the same key do the same
// work on the same servers.
func WorkKey(s *scenario.Scenario) string { return fmt.Sprintf("%+v", workTopology(s.Topology)) }
