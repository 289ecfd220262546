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

// reluctantElections is the number of election timeouts after the last contact with a leader during
// which a reluctant node does not stand for election. After that it stands, because the others may
// be unable to win.
const reluctantElections = 10

// reluctant reports whether this node should leave elections to the others, because its disk lacks
// space and theirs do not.
func (r *Replica) reluctant() bool {
	if r.o.Reluctant == nil || !r.started.Load() || !r.o.Reluctant() {
		return false
	}
	return time.Since(r.raft.LastContact()) < reluctantElections*r.o.ElectionTimeout
}

// spaceLog is a log that refuses changes while the member's disk is exhausted. The leader learns
// that they were not stored and sends them again later. A majority continues without this member.
// The log always accepts entries without changes, which elect and confirm a leader, because they
// are only a few bytes. Raft cuts the log up to a snapshot, but spaceLog retains the entries that
// the store needs after a restart.
type spaceLog struct {
	Logs

	space *storage.Space
	// leading reports whether this member leads. A leader must store what it proposed before its
	// disk was exhausted.
	leading func() bool
	// kept returns an index. Entries after it must be retained, unless the end of the log is
	// removed.
	kept func() uint64
	// cut reports that the end of the log was just removed. Raft relies on the replacing entries
	// being stored.
	cut atomic.Bool
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
	if last < end { // Raft removes the beginning of the log
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

// CutLog flushes the applied entries to the store and cuts the log before its size requires it, to
// reclaim space.
func (r *Replica) CutLog() {
	if r.sinceSnap.Load() > 0 {
		signal.Send(r.cut)
	}
}
