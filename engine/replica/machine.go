package replica

import (
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/storage"
)

// machine implements Raft's state machine for a Replica. Raft calls it from one goroutine.
type machine struct{ replica *Replica }

var _ raft.BatchingFSM = machine{}

// Apply implements raft.FSM.
func (m machine) Apply(l *raft.Log) any { return m.ApplyBatch([]*raft.Log{l})[0] }

// applying is the response to an applied entry.
type applying struct {
	took  time.Duration // time for all entries of the call of ApplyBatch
	parts stalls.Parts
}

// ApplyBatch implements raft.BatchingFSM. The response to each entry is either an error or an
// *applying.
func (m machine) ApplyBatch(logs []*raft.Log) []any {
	r := m.replica
	out := make([]any, len(logs))
	entries, places := make([]storage.LogEntry, 0, len(logs)), make([]int, 0, len(logs))
	var bytes uint64
	for i, l := range logs {
		switch l.Type {
		case raft.LogConfiguration:
			r.configured.Store(&configured{raft.DecodeConfiguration(l.Data), l.Index})
		case raft.LogCommand:
			entries, places = append(entries, storage.LogEntry{Index: l.Index, Term: l.Term, Data: l.Data}), append(places, i)
			bytes += uint64(len(l.Data))
		}
	}
	if len(entries) == 0 {
		return out
	}
	began := time.Now()
	applied, err := r.store.Load().Apply(entries)
	took := &applying{time.Since(began), applied.Parts} // all entries share this value
	if err != nil {
		// Later entries may depend on these entries, so no further entry may be applied.
		r.o.Host.Failed(r.o.Shard, fmt.Errorf("apply the log: %w", err))
		for i := range out {
			out[i] = err
		}
		return out
	}
	for k, i := range places {
		out[i] = took
		if applied.Skipped[k] {
			out[i] = storage.ErrSkipped
		}
	}
	r.count.entries.Add(uint64(len(entries)))
	r.count.bytes.Add(bytes)
	if applied.System {
		r.o.Host.SystemChanged(r.o.Shard)
	}
	if r.sinceSkip.Add(bytes) >= skipBytes {
		signal.Send(r.skip)
	}
	if r.sinceSnap.Add(bytes) >= r.o.SnapshotBytes {
		signal.Send(r.cut)
	}
	return out
}

// Snapshot implements raft.FSM. The snapshot is the store itself; Persist flushes it.
func (m machine) Snapshot() (raft.FSMSnapshot, error) {
	store := m.replica.store.Load()
	return flushed{m.replica.localStore, store, store.Position().Index}, nil
}

// Restore implements raft.FSM. It installs the store that the leader sent.
func (m machine) Restore(from io.ReadCloser) error {
	r := m.replica
	// The received file is on disk, and installLocked reads it from there. If the node dies during
	// the installation, the next start reads it from there too.
	if err := from.Close(); err != nil {
		return fmt.Errorf("install a snapshot: %w", err)
	}
	r.freeStore()
	err := r.o.Host.Swap(r.installLocked)
	r.inUse.Unlock()
	if err != nil {
		err = fmt.Errorf("install a snapshot: %w", err)
		r.o.Host.Failed(r.o.Shard, err)
		return err
	}
	r.count.installed.Add(1)
	r.o.Log.Info("installed a snapshot of the leader", "index", r.store.Load().Position().Index)
	r.o.Host.SystemChanged(r.o.Shard)
	return nil
}

// flushed is the snapshot of a store at an index. The store may already contain later entries.
type flushed struct {
	content *localStore
	store   *storage.Store
	index   uint64 // index of the last applied entry
}

// Persist implements raft.FSMSnapshot. It flushes the store. All entries up to the snapshot's index
// were already applied.
func (f flushed) Persist(to raft.SnapshotSink) error {
	f.content.inUse.RLock()
	defer f.content.inUse.RUnlock()
	if f.content.store.Load() != f.store {
		return errReplaced
	}
	if err := f.store.Flush(); err != nil {
		return err
	}
	to.(*sink).record.StoreIndex = f.index // snapshots.Create returned to
	return nil                             // Raft closes the sink
}

// Release implements raft.FSMSnapshot.
func (flushed) Release() {}
