package replica

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// reluctantElections is the number of election timeouts, from the last contact with a leader, in which a reluctant node does not
// stand for election. After that it stands, because the others may be unable to win.
const reluctantElections = 10

// reluctant reports whether this node should leave elections to others, because its disk lacks space and theirs do not.
func (r *Replica) reluctant() bool {
	if r.o.Reluctant == nil || !r.started.Load() || !r.o.Reluctant() {
		return false
	}
	return time.Since(r.raft.LastContact()) < reluctantElections*r.o.ElectionTimeout
}

// spaceLog is a log that refuses changes while the member's disk is exhausted. The leader learns that they were not stored and sends
// them again later; a majority continues without this member. The log always accepts entries without changes, which elect and confirm
// a leader, since they are only a few bytes. Raft cuts the log up to a snapshot; spaceLog keeps the entries that a restart of the store needs.
type spaceLog struct {
	Logs

	space   *storage.Space
	leading func() bool   // whether this member leads: a leader must store what it proposed before its disk was exhausted
	kept    func() uint64 // returns an index: entries after it are needed, unless the end of the log is removed
	cut     atomic.Bool   // the end of the log was just removed: Raft relies on the next entries being stored
}

// IsMonotonic implements raft.MonotonicLogStore.
func (l *spaceLog) IsMonotonic() bool {
	m, ok := l.Logs.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

// DeleteRange implements raft.LogStore.
func (l *spaceLog) DeleteRange(first, last uint64) error {
	end, err := l.LastIndex()
	if err != nil {
		return err
	}
	if last < end { // Raft cuts the log
		if last = min(last, l.kept()); last < first {
			return nil
		}
	}
	if err := l.Logs.DeleteRange(first, last); err != nil {
		return err
	}
	if last >= end {
		l.cut.Store(true)
	}
	return nil
}

// StoreLog implements raft.LogStore.
func (l *spaceLog) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// StoreLogs implements raft.LogStore.
func (l *spaceLog) StoreLogs(entries []*raft.Log) error {
	if !l.cut.Load() && l.space.Own() == disk.SpaceExhausted && !l.leading() {
		for _, e := range entries {
			if e.Type == raft.LogCommand && storage.ChangesStore(e.Data) {
				return fmt.Errorf("entry %d is not stored: %s", e.Index, l.space.Why())
			}
		}
	}
	if err := l.Logs.StoreLogs(entries); err != nil {
		return err
	}
	l.cut.Store(false)
	return nil
}

// CutLog flushes the applied entries to the store and truncates the log before its size requires that, which reclaims space.
func (r *Replica) CutLog() {
	if r.sinceSnap.Load() > 0 {
		signal.Send(r.cut)
	}
}
