package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/internal/signal"
)

// Replica is one member of a shard's group. Its methods are safe for concurrent use.
type Replica struct {
	*raftGroup
	*localStore
	*membership
	*leadership
	*candidacy
	*upkeep

	work   sync.WaitGroup
	closed sync.Once
}

// Open opens a member of a group and starts Raft. The logs, the stream layer and the host must
// remain valid until Close has returned.
func Open(o Options) (_ *Replica, err error) {
	g := &raftGroup{o: o.withDefaults(), stop: make(chan struct{})}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	content := &localStore{options: &g.o, damaged: make(chan struct{}, 1)}
	members := &membership{raftGroup: g, content: content}
	r := &Replica{
		raftGroup: g, localStore: content, membership: members,
		leadership: &leadership{
			raftGroup: g, content: content, membership: members, restart: make(chan struct{}, 1), review: make(chan struct{}, 1), handOvers: make(chan handOver),
		},
		candidacy: &candidacy{raftGroup: g, lost: make(chan struct{}, 1), leaders: make(chan raft.Observation, 16)},
		upkeep:    &upkeep{raftGroup: g, content: content, cut: make(chan struct{}, 1), skip: make(chan struct{}, 1)},
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("shard %d: %w", g.o.Shard, err)
			r.cancel()
			if s := r.store.Load(); s != nil {
				err = errors.Join(err, s.Close())
			}
		}
	}()
	if r.snapshots, err = openSnapshots(g.o.Snapshots, r.checkpoint); err != nil {
		return nil, err
	}
	r.snapshots.space = g.o.Store.Space
	if err := r.openStore(); err != nil {
		return nil, err
	}
	if err := r.alignHistory(); err != nil {
		return nil, err
	}
	if err := r.startRaft(); err != nil {
		return nil, err
	}
	r.work.Go(r.lead)
	r.work.Go(r.cutLog)
	r.work.Go(r.skipEndedLeases)
	r.work.Go(r.yieldLeadership)
	r.work.Go(r.watchLeader)
	return r, nil
}

func (o Options) raftConfig(logger hclog.Logger) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(o.Node)
	c.Logger = logger
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = o.HeartbeatTimeout, o.ElectionTimeout, o.LeaderLease
	c.MaxAppendEntries, c.BatchApplyCh = o.AppendEntriesMax, true
	c.TrailingLogs = trailingEntriesMin // keepTrailing adjusts it
	// Raft must not truncate the log by itself: cutLog does so, depending on the size of the
	// entries. A snapshot never needs to be restored at the start, since the store is never behind
	// it.
	c.SnapshotThreshold, c.SnapshotInterval = 1<<62, time.Hour
	c.NoSnapshotRestoreOnStart = true
	c.ShutdownOnRemove = false
	c.NoLegacyTelemetry = true
	return c
}

func (r *Replica) transportConfig(logger hclog.Logger) *raft.NetworkTransportConfig {
	return &raft.NetworkTransportConfig{
		Stream: watchedStream{r.o.Stream, func() { signal.Send(r.lost) }}, ServerAddressProvider: r.o.Addresses, Logger: logger,
		MaxPool: transportPool, MaxRPCsInFlight: r.o.MessagesInFlight, Timeout: transportMax,
	}
}

func (r *Replica) startRaft() error {
	logger := newLogger(r.o.Log)
	c := r.o.raftConfig(logger)
	stored := &spaceLog{
		Logs: r.o.Logs, space: r.o.Store.Space, leading: func() bool { return r.tenure.Load() != nil },
		kept: func() uint64 { return r.store.Load().Kept() },
	}
	cached, err := raft.NewLogCache(logCacheEntries, stored)
	if err != nil {
		return fmt.Errorf("make the log's cache: %w", err)
	}
	r.transport = newTransport(r.raftGroup, r.transportConfig(logger))
	known, err := raft.HasExistingState(r.o.Logs, r.o.Logs, r.snapshots)
	if err == nil && !known && len(r.o.Bootstrap) > 0 && !r.o.Hold {
		err = raft.BootstrapCluster(c, r.o.Logs, r.o.Logs, r.snapshots, r.transport, raft.Configuration{Servers: r.o.Bootstrap})
	}
	if err == nil {
		r.raft, err = raft.NewRaft(c, machine{r}, cached, r.o.Logs, r.snapshots, r.transport)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("start Raft: %w", err), r.transport.Close())
	}
	r.raft.RegisterObserver(raft.NewObserver(r.leaders, false, func(o *raft.Observation) bool {
		_, is := o.Data.(raft.LeaderObservation)
		if is {
			r.o.Host.LeaderChanged(r.o.Shard) // call it here, because watchLeader may be busy
		}
		return is
	}))
	r.started.Store(true)
	return nil
}

// Bootstrap creates a group that Options.Hold has delayed. It does nothing if the group exists or
// Options.Bootstrap is empty.
func (r *Replica) Bootstrap() error {
	if len(r.o.Bootstrap) == 0 {
		return nil
	}
	err := r.raft.BootstrapCluster(raft.Configuration{Servers: r.o.Bootstrap}).Error()
	if err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
		return fmt.Errorf("shard %d: begin the group: %w", r.o.Shard, err)
	}
	return nil
}

// Close stops Raft and closes the store. It does not hand leadership over; call Transfer first for
// that.
func (r *Replica) Close() error {
	var err error
	r.closed.Do(func() {
		close(r.stop)
		r.cancel()
		r.work.Wait() // before Shutdown, after which Raft does not answer queued proposals
		err = r.raft.Shutdown().Error()
		err = errors.Join(err, r.transport.Close())
		r.asking.Wait()
		err = errors.Join(err, r.store.Load().Close())
	})
	if err != nil {
		return fmt.Errorf("shard %d: %w", r.o.Shard, err)
	}
	return nil
}
