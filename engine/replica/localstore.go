package replica

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// localStore is this member's copy of the shard's store, and the record of its newest snapshot. It
// fits the log of the group.
type localStore struct {
	options   *Options
	snapshots *snapshots
	store     atomic.Pointer[storage.Store]
	// inUse is read-locked while this node leads and while the store is flushed or copied. It is
	// write-locked while the store is replaced.
	inUse   sync.RWMutex
	damage  atomic.Pointer[disk.DamagedError] // the damage found in the store, or nil
	damaged chan struct{}                     // contains an element once damage was found
}

// openStore opens the store. If the node died while installing a snapshot, openStore first installs
// the snapshot.
func (s *localStore) openStore() error {
	if s.snapshots.toInstall() != "" {
		s.inUse.Lock()
		defer s.inUse.Unlock()
		if err := s.installLocked(); err != nil {
			return fmt.Errorf("continue installing a snapshot: %w", err)
		}
		return nil
	}
	return s.reopen()
}

func (s *localStore) reopen() error {
	o := s.options.Store
	o.Entries, o.SyncLog = s.entries, s.options.Logs.Persist
	store, err := storage.Open(s.options.Dir, o)
	if err != nil {
		return err
	}
	s.store.Store(store)
	return nil
}

// entries calls visit for the command entries with indexes in [from, to]. A command entry changes
// the store or starts a tenure.
func (s *localStore) entries(from, to uint64, visit func(storage.LogEntry) error) error {
	for i := from; i <= to; i++ {
		var l raft.Log
		err := s.options.Logs.GetLog(i, &l)
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

// Store returns the shard's store. Installing a snapshot replaces the store, so Host.Swap must wait
// until nothing reads it.
func (s *localStore) Store() *storage.Store { return s.store.Load() }
