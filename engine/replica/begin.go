package replica

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/replica/logs"
)

// termName is under which Raft keeps its term in the stable store.
var termName = []byte("CurrentTerm")

// history sees to it that Raft begins with what the store holds: log, snapshots and store are of one history.
func (r *Replica) history() error {
	known, err := raft.HasExistingState(r.o.Logs, r.o.Logs, r.snapshots)
	if err != nil {
		return fmt.Errorf("look for a Raft log: %w", err)
	}
	if known {
		err = r.agree()
	} else {
		err = r.adopt()
	}
	if err != nil {
		return err
	}
	return r.raiseTerm()
}

// adopt makes what a store holds that no group wrote, of a server that stood alone or from a backup, the first snapshot of a
// group of this node alone. Others that join are sent it. Among several first members it would be in one copy only.
func (r *Replica) adopt() error {
	at := r.store.Load().Position()
	holds, err := r.store.Load().Holds()
	if err != nil {
		return fmt.Errorf("look into the store: %w", err)
	}
	if !holds && at.Index == 0 {
		return nil
	}
	if first := r.o.Bootstrap; len(first) != 1 || first[0].ID != raft.ServerID(r.o.Node) {
		return fmt.Errorf("the store in %s holds what no cluster wrote, or its Raft log is gone, and other nodes do not have it: "+
			"start this node as the only member first, without peers and nodes to join, and let the others join it; or give it an empty data folder", r.o.Dir)
	}
	r.o.Log.Info("beginning a group with what the store holds", "index", max(at.Index, 1))
	made := newRecord(raft.SnapshotVersionMax, max(at.Index, 1), max(at.Term, 1), raft.Configuration{Servers: r.o.Bootstrap}, max(at.Index, 1))
	made.StoreIndex = at.Index
	return r.snapshots.note(made)
}

// raiseTerm sees to it that no term begins that is before the snapshot's: also when the process died after it was noted.
func (r *Replica) raiseTerm() error {
	taken := r.snapshots.latest()
	if taken == nil {
		return nil
	}
	term, err := r.o.Logs.GetUint64(termName)
	if err != nil && !errors.Is(err, logs.ErrNotFound) {
		return fmt.Errorf("read the term: %w", err)
	}
	if term >= taken.Meta.Term {
		return nil
	}
	if err := r.o.Logs.SetUint64(termName, taken.Meta.Term); err != nil {
		return fmt.Errorf("store the term: %w", err)
	}
	return nil
}
