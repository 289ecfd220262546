package replica

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/replica/logs"
)

// termName is the key under which Raft stores its term in the stable store.
var termName = []byte("CurrentTerm")

// alignHistory makes the log, the snapshots and the store consistent. It must run before Raft
// starts.
func (s *localStore) alignHistory() error {
	known, err := raft.HasExistingState(s.options.Logs, s.options.Logs, s.snapshots)
	if err != nil {
		return fmt.Errorf("look for a Raft log: %w", err)
	}
	if known {
		err = s.alignLog()
	} else {
		err = s.adoptStore()
	}
	if err != nil {
		return err
	}
	return s.raiseTerm()
}

// alignLog compares the log, the snapshot and the store of an existing group. If the log ends
// before the store, alignLog replaces the log.
func (s *localStore) alignLog() error {
	at := s.store.Load().Position()
	taken := s.snapshots.latest()
	if taken != nil && at.Index < taken.StoreIndex {
		return fmt.Errorf("the store in %s is at log entry %d, and was at %d when the log was cut: entries are missing; remove this node's data folder, and let it join again",
			s.options.Dir, at.Index, taken.StoreIndex)
	}
	last, err := s.options.Logs.LastIndex()
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	if last >= at.Index || taken != nil && taken.Meta.Index >= at.Index {
		return nil
	}
	// A power loss removed the end of the log, which can happen in the modes none and interval. The
	// store's entries were committed, so the log may continue after them.
	s.options.Log.Warn("the log ends before the store: continuing from the store", "log", last, "store", at.Index)
	configuration, index, err := s.lastConfiguration(taken, last)
	if err != nil {
		return err
	}
	made := newRecord(raft.SnapshotVersionMax, at.Index, at.Term, configuration, index)
	made.StoreIndex = at.Index
	if err := s.snapshots.note(made); err != nil {
		return err
	}
	first, err := s.options.Logs.FirstIndex()
	if err == nil && last > 0 {
		err = s.options.Logs.DeleteRange(first, last)
	}
	if err != nil {
		return fmt.Errorf("empty the log: %w", err)
	}
	return nil
}

// lastConfiguration returns the last configuration in the log. If the log contains none, it returns
// the snapshot's configuration.
func (s *localStore) lastConfiguration(taken *record, last uint64) (c raft.Configuration, index uint64, err error) {
	if taken != nil {
		c, index = taken.Meta.Configuration, taken.Meta.ConfigurationIndex
	}
	first, err := s.options.Logs.FirstIndex()
	if err != nil || first == 0 {
		return c, index, err
	}
	for i := last; i >= first; i-- {
		var l raft.Log
		if err := s.options.Logs.GetLog(i, &l); err != nil {
			return c, index, fmt.Errorf("read log entry %d: %w", i, err)
		}
		if l.Type == raft.LogConfiguration {
			return raft.DecodeConfiguration(l.Data), i, nil
		}
	}
	return c, index, nil
}

// adoptStore turns the store of a single server, or a store restored from a backup, into the first
// snapshot of a group. This node must be the only member of the group. Nodes that join later
// receive the snapshot. A group cannot start with several members from such a store, because only
// one of them would have the data.
func (s *localStore) adoptStore() error {
	at := s.store.Load().Position()
	holds, err := s.store.Load().Holds()
	if err != nil {
		return fmt.Errorf("check whether the store is empty: %w", err)
	}
	if !holds && at.Index == 0 {
		return nil
	}
	if first := s.options.Bootstrap; len(first) != 1 || first[0].ID != raft.ServerID(s.options.Node) {
		return fmt.Errorf("the store in %s holds data without a Raft log, and other nodes do not have it: "+
			"start this node as the only member first, without peers and nodes to join, and let the others join it; or start it with an empty data folder", s.options.Dir)
	}
	s.options.Log.Info("a new group begins with the content of the store", "index", max(at.Index, 1))
	made := newRecord(raft.SnapshotVersionMax, max(at.Index, 1), max(at.Term, 1), raft.Configuration{Servers: s.options.Bootstrap}, max(at.Index, 1))
	made.StoreIndex = at.Index
	return s.snapshots.note(made)
}

// raiseTerm raises Raft's term to the term of the newest snapshot. Raft's term is lower if the
// process died after recording the snapshot. No later election may use an earlier term.
func (s *localStore) raiseTerm() error {
	taken := s.snapshots.latest()
	if taken == nil {
		return nil
	}
	term, err := s.options.Logs.GetUint64(termName)
	if err != nil && !errors.Is(err, logs.ErrNotFound) {
		return fmt.Errorf("read the term: %w", err)
	}
	if term >= taken.Meta.Term {
		return nil
	}
	if err := s.options.Logs.SetUint64(termName, taken.Meta.Term); err != nil {
		return fmt.Errorf("store the term: %w", err)
	}
	return nil
}
