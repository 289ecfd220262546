package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// Replica is one member of a shard's group. Its methods are safe for concurrent use.
type Replica struct {
	o         Options
	raft      *raft.Raft
	transport *transport
	snapshots *snapshots
	count     counters

	started atomic.Bool // true once raft is set
	store   atomic.Pointer[storage.Store]
	// inUse is read-locked while this node leads and while the store is flushed or copied. It is
	// write-locked while the store is replaced.
	inUse      sync.RWMutex
	configured atomic.Pointer[configured] // the last applied configuration entry; nil if none
	sinceSnap  atomic.Uint64              // bytes of entries applied since the log was truncated
	sinceSkip  atomic.Uint64              // bytes applied since ended leases were skipped
	skip       chan struct{}              // contains an element when ended leases should be skipped
	cut        chan struct{}              // contains an element when the log should be truncated

	restart chan struct{} // contains an element when another tenure should replace this one
	// silent makes the transport send nothing to the followers, so that Raft steps down. Only the
	// leadership goroutine sets it.
	silent atomic.Bool
	// review contains an element when the replica should check whether this node may lead.
	review    chan struct{}
	handOvers chan handOver // requests to hand leadership over
	// tenure is not nil while the host runs the shard. The leadership goroutine sets it.
	tenure  atomic.Pointer[tenureLog]
	damage  atomic.Pointer[disk.DamagedError] // the damage found in the store, or nil
	damaged chan struct{}                     // contains an element once damage was found
	// lost contains an element when a connection that another member opened has ended.
	lost    chan struct{}
	leaders chan raft.Observation // Raft's observations of changes of the leader
	stop    chan struct{}
	ctx     context.Context // ends when stop is closed
	cancel  context.CancelFunc
	work    sync.WaitGroup
	asking  sync.WaitGroup // waits for the goroutines that ask voters
	closed  sync.Once
}

// Open opens a member of a group and starts Raft. The logs, the stream layer and the host must
// remain valid until Close has returned.
func Open(o Options) (_ *Replica, err error) {
	o = o.withDefaults()
	r := &Replica{
		o: o, cut: make(chan struct{}, 1), skip: make(chan struct{}, 1), restart: make(chan struct{}, 1), review: make(chan struct{}, 1), handOvers: make(chan handOver), damaged: make(chan struct{}, 1),
		lost: make(chan struct{}, 1), leaders: make(chan raft.Observation, 16), stop: make(chan struct{}),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = fmt.Errorf("shard %d: %w", o.Shard, err)
			r.cancel()
			if s := r.store.Load(); s != nil {
				err = errors.Join(err, s.Close())
			}
		}
	}()
	if r.snapshots, err = openSnapshots(o.Snapshots, r.checkpoint); err != nil {
		return nil, err
	}
	r.snapshots.space = o.Store.Space
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

// openStore opens the store. If the node died while installing a snapshot, openStore first installs
// the snapshot.
func (r *Replica) openStore() error {
	if r.snapshots.toInstall() != "" {
		r.inUse.Lock()
		defer r.inUse.Unlock()
		if err := r.installLocked(); err != nil {
			return fmt.Errorf("continue installing a snapshot: %w", err)
		}
		return nil
	}
	return r.reopen()
}

func (r *Replica) reopen() error {
	o := r.o.Store
	o.Entries, o.SyncLog = r.entries, r.o.Logs.Persist
	store, err := storage.Open(r.o.Dir, o)
	if err != nil {
		return err
	}
	r.store.Store(store)
	return nil
}

// entries calls visit for the command entries with indexes in [from, to]. A command entry changes
// the store or starts a tenure.
func (r *Replica) entries(from, to uint64, visit func(storage.LogEntry) error) error {
	for i := from; i <= to; i++ {
		var l raft.Log
		err := r.o.Logs.GetLog(i, &l)
		if errors.Is(err, raft.ErrLogNotFound) {
			return fmt.Errorf("the log lacks entry %d of the entries %d to %d: remove this node's data folder, and let it join again", i, from, to)
		}
		if err == nil && l.Type == raft.LogCommand {
			err = visit(storage.LogEntry{Index: l.Index, Term: l.Term, Data: l.Data})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// alignLog compares the log, the snapshot and the store of an existing group. If the log ends
// before the store, alignLog replaces the log.
func (r *Replica) alignLog() error {
	at := r.store.Load().Position()
	taken := r.snapshots.latest()
	if taken != nil && at.Index < taken.StoreIndex {
		return fmt.Errorf("the store in %s is at log entry %d, and was at %d when the log was cut: entries are missing; remove this node's data folder, and let it join again",
			r.o.Dir, at.Index, taken.StoreIndex)
	}
	last, err := r.o.Logs.LastIndex()
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	if last >= at.Index || taken != nil && taken.Meta.Index >= at.Index {
		return nil
	}
	// A power loss removed the end of the log, which can happen in the modes none and interval. The
	// store's entries were committed, so the log may continue after them.
	r.o.Log.Warn("the log ends before the store: continuing from the store", "log", last, "store", at.Index)
	configuration, index, err := r.lastConfiguration(taken, last)
	if err != nil {
		return err
	}
	made := newRecord(raft.SnapshotVersionMax, at.Index, at.Term, configuration, index)
	made.StoreIndex = at.Index
	if err := r.snapshots.note(made); err != nil {
		return err
	}
	first, err := r.o.Logs.FirstIndex()
	if err == nil && last > 0 {
		err = r.o.Logs.DeleteRange(first, last)
	}
	if err != nil {
		return fmt.Errorf("empty the log: %w", err)
	}
	return nil
}

// lastConfiguration returns the last configuration in the log. If the log contains none, it returns
// the snapshot's configuration.
func (r *Replica) lastConfiguration(taken *record, last uint64) (c raft.Configuration, index uint64, err error) {
	if taken != nil {
		c, index = taken.Meta.Configuration, taken.Meta.ConfigurationIndex
	}
	first, err := r.o.Logs.FirstIndex()
	if err != nil || first == 0 {
		return c, index, err
	}
	for i := last; i >= first; i-- {
		var l raft.Log
		if err := r.o.Logs.GetLog(i, &l); err != nil {
			return c, index, fmt.Errorf("read log entry %d: %w", i, err)
		}
		if l.Type == raft.LogConfiguration {
			return raft.DecodeConfiguration(l.Data), i, nil
		}
	}
	return c, index, nil
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
	r.transport = newTransport(r, r.transportConfig(logger))
	known, err := raft.HasExistingState(r.o.Logs, r.o.Logs, r.snapshots)
	if err == nil && !known && len(r.o.Bootstrap) > 0 && !r.o.Hold {
		err = raft.BootstrapCluster(c, r.o.Logs, r.o.Logs, r.snapshots, r.transport, raft.Configuration{Servers: r.o.Bootstrap})
	}
	if err == nil {
		r.raft, err = raft.NewRaft(c, (*machine)(r), cached, r.o.Logs, r.snapshots, r.transport)
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

// Store returns the shard's store. Installing a snapshot replaces the store, so Host.Swap must wait
// until nothing reads it.
func (r *Replica) Store() *storage.Store { return r.store.Load() }

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

// skipBytes is the size in bytes of applied entries after which ended leases are skipped again.
// Under load, this corresponds to a fraction of a second.
const skipBytes = 1 << 20

// skipEndedLeases makes the store skip batches of leases that have ended. A later tenure of this
// node then starts sooner.
func (r *Replica) skipEndedLeases() {
	for {
		select {
		case <-r.stop:
			return
		case <-r.skip:
		}
		r.sinceSkip.Store(0)
		r.inUse.RLock()
		err := r.store.Load().SkipEndedLeases()
		r.inUse.RUnlock()
		if err != nil {
			r.o.Log.Warn("could not skip ended leases: this node's next tenure may begin later", "error", err)
		}
	}
}

func (r *Replica) cutLog() {
	var before Counters
	for {
		select {
		case <-r.stop:
			return
		case <-r.cut:
		}
		r.sinceSnap.Store(0)
		now := r.Counters()
		trailing, err := r.keepTrailing(now.Entries-before.Entries, now.EntryBytes-before.EntryBytes)
		before = now
		if err == nil {
			err = r.storeYoung(trailing)
		}
		if err == nil {
			err = r.Snapshot()
		}
		if err != nil && !errors.Is(err, raft.ErrRaftShutdown) {
			r.o.Log.Warn("the log could not be cut; the replica tries again", "error", err)
		}
	}
}

// keepTrailing sets the number of trailing entries of the log to TrailingBytes divided by the
// average size of recent entries, within its limits.
func (r *Replica) keepTrailing(entries, bytes uint64) (trailing uint64, err error) {
	c := r.raft.ReloadableConfig()
	if bytes == 0 {
		return c.TrailingLogs, nil
	}
	c.TrailingLogs = min(max(r.o.TrailingBytes*entries/bytes, trailingEntriesMin), trailingEntriesMax)
	if err := r.raft.ReloadConfig(c); err != nil {
		return 0, fmt.Errorf("keep the last %d entries of the log: %w", c.TrailingLogs, err)
	}
	return c.TrailingLogs, nil
}

// storeYoung writes to the store those tasks and leases that exist only in the log entries about to
// be removed.
func (r *Replica) storeYoung(trailing uint64) error {
	r.inUse.RLock()
	defer r.inUse.RUnlock()
	store := r.store.Load()
	at := store.Position().Index
	err := store.StoreYoung(at - min(at, trailing))
	if err != nil { // the store lacks tasks or leases that it must have
		r.o.Host.Failed(r.o.Shard, err)
	}
	return err
}

// Snapshot flushes the applied entries to disk and truncates the log.
func (r *Replica) Snapshot() error {
	err := r.raft.Snapshot().Error()
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("snapshot shard %d: %w", r.o.Shard, err)
	}
	r.count.snapshots.Add(1)
	return nil
}
