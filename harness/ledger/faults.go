package ledger

import (
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/harness/result"
)

// samplesPerKind bounds the number of samples for each kind of fault. A sample names a faulty task.
// The kinds are lost, duplicated, corrupted, misrouted, reordered, contested, revoked, misread,
// miscounted, early, wrong result, unextended and rekeyed.
const samplesPerKind = 7

type fault struct {
	count   uint64
	samples []string // of the first samplesPerKind faults
}

// faults contains the faults of a round's tasks. Lost tasks are not among them, because they are
// found only at the end. Faults are rare, so one lock for all producers is enough.
type faults struct {
	mu         sync.Mutex
	duplicated fault
	corrupted  fault
	misrouted  fault
	reordered  fault
	contested  fault
	revoked    fault
	misread    fault
	miscounted fault
	early      fault
	misresult  fault
	unextended fault
	rekeyed    fault

	reads   atomic.Uint64 // number of checked reads
	delayed atomic.Uint64 // number of deliveries of tasks with a delay
	results atomic.Uint64 // number of results that were read back

	extended atomic.Uint64 // number of extended leases
	repeated atomic.Uint64 // number of enqueues that were repeated under a key

	unreadableCompleted atomic.Uint64
}

func (f *faults) add(kind *fault, n uint64, sample string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind.count += n
	if len(kind.samples) < samplesPerKind {
		kind.samples = append(kind.samples, sample)
	}
}

// kinds returns the faults that a checkpoint contains. Their order is part of the file format. A
// load that uses checkpoints does not watch the other kinds.
func (f *faults) kinds() []*fault {
	return []*fault{&f.duplicated, &f.corrupted, &f.misrouted, &f.reordered, &f.contested, &f.revoked, &f.misread}
}

func (f *faults) read(into *result.Ledger) {
	f.mu.Lock()
	defer f.mu.Unlock()
	into.Duplicated, into.Corrupted = f.duplicated.count, f.corrupted.count
	into.Misrouted, into.Reordered = f.misrouted.count, f.reordered.count
	into.Contested, into.Revoked = f.contested.count, f.revoked.count
	into.Reads, into.Misread = f.reads.Load(), f.misread.count
	into.Miscounted = f.miscounted.count
	into.Results, into.WrongResults = f.results.Load(), f.misresult.count
	into.Extended, into.Unextended = f.extended.Load(), f.unextended.count
	into.Repeated, into.Rekeyed = f.repeated.Load(), f.rekeyed.count
	into.Delayed, into.Early = f.delayed.Load(), f.early.count
	for _, kind := range append(f.kinds(), &f.miscounted, &f.early, &f.misresult, &f.unextended, &f.rekeyed) {
		into.Samples = append(into.Samples, kind.samples...)
	}
}
