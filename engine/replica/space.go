package replica

import (
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// spaceLog is a log that refuses entries while the member's disk is exhausted. The leader learns
// that they were not stored and sends them again later. A majority continues without this member.
// spaceLog always accepts entries that do not change the store: they are only a few bytes long, and
// electing and confirming a leader needs them. When Raft truncates the log after a snapshot,
// spaceLog retains the entries that the store needs after a restart.
type spaceLog struct {
	Logs

	space *storage.Space
	// leading reports whether this member leads. A leader must store the entries that it proposed
	// before its disk was exhausted.
	leading func() bool
	// kept returns an index. Entries after it must be retained when the start of the log is
	// removed.
	kept func() uint64
	// cut is true if the end of the log was just removed. Raft then relies on the replacing entries
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
	if last < end { // Raft removes the start of the log
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
