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
func (r *Replica) alignHistory() error {
	known, err := raft.HasExistingState(r.o.Logs, r.o.Logs, r.snapshots)
	if err != nil {
		return fmt.Errorf("look for a Raft log: %w", err)
	}
	if known {
		err = r.alignLog()
	} else {
		err = r.adoptStore()
	}
	if err != nil {
		return err
	}
	return r.raiseTerm()
}

// adoptStore turns the store of a single server, or a store restored from a backup, into the first
// snapshot of a group. This node must be the only member of the group. Nodes that join later
// receive the snapshot. A group cannot start with several members from such a store, because only
// one of them would have the data.
func (r *Replica) adoptStore() error {
	at := r.store.Load().Position()
	holds, err := r.store.Load().Holds()
	if err != nil {
		return fmt.Errorf("check whether the store is empty: %w", err)
	}
	if !holds && at.Index == 0 {
		return nil
	}
	if first := r.o.Bootstrap; len(first) != 1 || first[0].ID != raft.ServerID(r.o.Node) {
		return fmt.Errorf("the store in %s holds data without a Raft log, and other nodes do not have it: "+
			"start this node as the only member first, without peers and nodes to join, and let the others join it; or start it with an empty data folder", r.o.Dir)
	}
	r.o.Log.Info("a new group begins with the content of the store", "index", max(at.Index, 1))
	made := newRecord(raft.SnapshotVersionMax, max(at.Index, 1), max(at.Term, 1), raft.Configuration{Servers: r.o.Bootstrap}, max(at.Index, 1))
	made.StoreIndex = at.Index
	return r.snapshots.note(made)
}

// raiseTerm raises Raft's term to the term of the newest snapshot. Raft's term is lower if the
// process died after recording the snapshot. No later election may use an earlier term.
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
