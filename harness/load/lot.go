package load

import (
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// lot selects a part of the tasks of a workload at random. The selection depends only on the
// workload's seed and the task's identity, so producers and workers agree on it. The zero value
// selects no task.
type lot struct {
	part float64
	seed uint64
	kind lotKind
}

// lotKind is the purpose of a lot. Lots of different kinds select tasks independently.
type lotKind uint64

const (
	lotFail lotKind = iota + 1
	lotDelay
	lotResult
	lotExtend
	lotKey
	lotUnique
	lotCancel
	lotHeaders
)

func newLot(w scenario.Workload, kind lotKind, part float64) lot {
	return lot{part, uint64(w.Seed), kind}
}

// draws reports whether the lot selects an attempt of a task. For lots that select whole tasks,
// callers pass attempt 0.
func (l *lot) draws(id ledger.Identity, attempt uint32) bool {
	return l.part > 0 && fraction(mixed(l.seed, uint64(l.kind), uint64(id.Producer), id.Sequence, uint64(attempt))) < l.part
}

// hits reports whether the lot selects the attempt of a delivery. It never selects a delivery at fault.
func (l *lot) hits(c *claimed) bool {
	return c.verdict == ledger.Sound && l.draws(c.id, c.attempt)
}
