package load

import (
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// lot draws a part of the tasks of a workload. Whether it draws a task follows from the workload's
// seed and the task's identity, so that producers and workers agree. The zero value draws no task.
type lot struct {
	part float64
	seed uint64
	kind lotKind
}

// lotKind is the purpose of a lot. Lots of different kinds draw independently.
type lotKind uint64

const (
	lotFail lotKind = iota + 1
	lotDelay
	lotResult
	lotExtend
	lotKey
)

func newLot(w scenario.Workload, kind lotKind, part float64) lot {
	return lot{part, uint64(w.Seed), kind}
}

// draws reports whether the lot draws an attempt of a task. A lot of whole tasks passes attempt 0.
func (l *lot) draws(id ledger.Identity, attempt uint32) bool {
	return l.part > 0 && fraction(mixed(l.seed, uint64(l.kind), uint64(id.Producer), id.Sequence, uint64(attempt))) < l.part
}
