package replica

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// reluctantElections is for how many election timeouts a node that should not stand leaves that to others, from when it last
// heard of a leader. After that it stands: the others may not be able to win.
const reluctantElections = 10

// reluctant reports whether this node should leave standing for election to others: its disk lacks space, and theirs do not.
func (r *Replica) reluctant() bool {
	if r.o.Reluctant == nil || !r.started.Load() || !r.o.Reluctant() {
		return false
	}
	return time.Since(r.raft.LastContact()) < reluctantElections*r.o.ElectionTimeout
}

// spaceLog is the log of a member that takes no further changes when its disk is exhausted. The leader is told that they
// were not stored, and sends them again later; a majority goes on without this member. Entries without changes, which elect
// and confirm a leader, are a few bytes and are always taken.
type spaceLog struct {
	Logs

	space   *storage.Space
	leading func() bool // a leader proposes no changes while its disk lacks space, and must store what it proposed before
	cut     atomic.Bool // the last change of the log took its end away: Raft relies on the next entries being stored
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

// CutLog has what was applied put on disk, and the log cut, before it is due by its size: that gives space back.
func (r *Replica) CutLog() {
	if r.sinceSnap.Load() > 0 {
		signal(r.cut)
	}
}
