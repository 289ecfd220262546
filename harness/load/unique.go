package load

import (
	"strconv"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// unique assigns unique keys to the tasks of a workload. The key depends only on the workload's seed
// and the task's identity, so a worker knows the key of each task that it claims.
type unique struct {
	lot
	keys uint64 // the number of keys of each queue; 0 if the tasks have no unique keys
}

func newUnique(w scenario.Workload) unique {
	return unique{lot: newLot(w, lotUnique, 1), keys: uint64(w.Unique.Keys)}
}

// number returns the number of a task's key.
func (u *unique) number(id ledger.Identity) uint64 {
	return mixed(u.seed, uint64(u.kind), uint64(id.Producer), id.Sequence, 0) % u.keys
}

func (u *unique) set(t *driver.Task, id ledger.Identity) {
	if u.keys > 0 {
		t.Key, t.UntilFinished = "unique-"+strconv.FormatUint(u.number(id), 10), true
	}
}

// acknowledged enters the keys of the acknowledged tasks of a call in the ledger.
func (u *unique) acknowledged(l *ledger.Ledger, producer int, first uint64, to ledger.Address, outcomes []error) {
	if u.keys == 0 {
		return
	}
	for i, outcome := range outcomes {
		if outcome == nil {
			u.hold(l, ledger.Identity{Round: l.Round(), Producer: uint32(producer), Sequence: first + uint64(i)}, to)
		}
	}
}

// hold enters the key of a task that certainly exists.
func (u *unique) hold(l *ledger.Ledger, id ledger.Identity, to ledger.Address) {
	if u.keys > 0 {
		l.HoldsKey(id, to, u.number(id))
	}
}
