package replica

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/internal/signal"
)

// skipBytes is the size in bytes of applied entries after which ended leases are skipped again.
// Under load, this corresponds to a fraction of a second.
const skipBytes = 1 << 20

// upkeep truncates the log, and makes the store skip ended leases, after enough entries.
type upkeep struct {
	*raftGroup

	content   *localStore
	sinceSnap atomic.Uint64 // bytes of entries applied since the log was truncated
	sinceSkip atomic.Uint64 // bytes applied since ended leases were skipped
	skip      chan struct{} // contains an element when ended leases should be skipped
	cut       chan struct{} // contains an element when the log should be truncated
}

// skipEndedLeases makes the store skip batches of leases that have ended. A later tenure of this
// node then starts sooner.
func (u *upkeep) skipEndedLeases() {
	for {
		select {
		case <-u.stop:
			return
		case <-u.skip:
		}
		u.sinceSkip.Store(0)
		u.content.inUse.RLock()
		err := u.content.store.Load().SkipEndedLeases()
		u.content.inUse.RUnlock()
		if err != nil {
			u.o.Log.Warn("could not skip ended leases: this node's next tenure may begin later", "error", err)
		}
	}
}

func (u *upkeep) cutLog() {
	var before Counters
	for {
		select {
		case <-u.stop:
			return
		case <-u.cut:
		}
		u.sinceSnap.Store(0)
		now := u.Counters()
		trailing, err := u.keepTrailing(now.Entries-before.Entries, now.EntryBytes-before.EntryBytes)
		before = now
		if err == nil {
			err = u.storeYoung(trailing)
		}
		if err == nil {
			err = u.Snapshot()
		}
		if err != nil && !errors.Is(err, raft.ErrRaftShutdown) {
			u.o.Log.Warn("the log could not be cut; the replica tries again", "error", err)
		}
	}
}

// keepTrailing sets the number of trailing entries of the log to TrailingBytes divided by the
// average size of recent entries, within its limits.
func (u *upkeep) keepTrailing(entries, bytes uint64) (trailing uint64, err error) {
	c := u.raft.ReloadableConfig()
	if bytes == 0 {
		return c.TrailingLogs, nil
	}
	c.TrailingLogs = min(max(u.o.TrailingBytes*entries/bytes, trailingEntriesMin), trailingEntriesMax)
	if err := u.raft.ReloadConfig(c); err != nil {
		return 0, fmt.Errorf("keep the last %d entries of the log: %w", c.TrailingLogs, err)
	}
	return c.TrailingLogs, nil
}

// storeYoung writes to the store those tasks and leases that exist only in the log entries about to
// be removed.
func (u *upkeep) storeYoung(trailing uint64) error {
	u.content.inUse.RLock()
	defer u.content.inUse.RUnlock()
	store := u.content.store.Load()
	at := store.Position().Index
	err := store.StoreYoung(at - min(at, trailing))
	if err != nil { // the store lacks tasks or leases that it must have
		u.o.Host.Failed(u.o.Shard, err)
	}
	return err
}

// Snapshot flushes the applied entries to disk and truncates the log.
func (u *upkeep) Snapshot() error {
	err := u.raft.Snapshot().Error()
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("snapshot shard %d: %w", u.o.Shard, err)
	}
	u.count.snapshots.Add(1)
	return nil
}

// CutLog flushes the applied entries to the store and truncates the log, to reclaim space. It does
// so before the size of the log requires it.
func (u *upkeep) CutLog() {
	if u.sinceSnap.Load() > 0 {
		signal.Send(u.cut)
	}
}
