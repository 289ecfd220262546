package ledger

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/harness/result"
)

// samplesPerKind bounds the number of samples for each kind of fault. A sample names a faulty task.
// The kinds are lost, duplicated, corrupted, misrouted, reordered, contested, revoked, misread,
// miscounted, early, wrong result, unextended, rekeyed, doubled, unnoticed, wrong headers and
// premature.
const samplesPerKind = 7

type fault struct {
	count   uint64
	samples []string // of the first samplesPerKind faults
}

// faults contains the faults of a round's tasks. Lost tasks are not among them, because they are
// found only at the end. Faults are rare, so one lock for all producers is enough.
type faults struct {
	mu          sync.Mutex
	duplicated  fault
	corrupted   fault
	misrouted   fault
	reordered   fault
	contested   fault
	revoked     fault
	misread     fault
	miscounted  fault
	early       fault
	misresult   fault
	unextended  fault
	rekeyed     fault
	doubled     fault
	unnoticed   fault
	mislabelled fault
	premature   fault

	reads   atomic.Uint64 // number of checked reads
	delayed atomic.Uint64 // number of deliveries of tasks with a delay
	results atomic.Uint64 // number of results that were read back

	labelled atomic.Uint64 // number of deliveries whose headers were checked
	finals   atomic.Uint64 // number of deliveries of final tasks
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
	into.Doubled, into.Unnoticed = f.doubled.count, f.unnoticed.count
	into.Labelled, into.WrongHeaders = f.labelled.Load(), f.mislabelled.count
	into.Finals, into.Premature = f.finals.Load(), f.premature.count
	into.Delayed, into.Early = f.delayed.Load(), f.early.count
	for _, kind := range append(f.kinds(), &f.miscounted, &f.early, &f.misresult, &f.unextended, &f.rekeyed, &f.doubled, &f.unnoticed, &f.mislabelled, &f.premature) {
		into.Samples = append(into.Samples, kind.samples...)
	}
}

// DelayTolerance is how long before the end of its delay a task may be claimed. A server that
// measures time in whole milliseconds may truncate the time of the enqueue, so the delay may end up
// to a millisecond early.
const DelayTolerance = time.Millisecond

// ClaimedDelayed records the claim of a task with a delay. late is the time from the end of the
// delay to the claim, measured by the clock of the intended start. A task that is claimed more than
// DelayTolerance before the end of its delay counts as early.
func (l *Ledger) ClaimedDelayed(id Identity, delay, late time.Duration) {
	l.faults.delayed.Add(1)
	if late < -DelayTolerance {
		l.faults.add(&l.faults.early, 1, fmt.Sprintf("early: %s, enqueued with a delay of %v, was claimed %v before the delay ended", id, delay, -late))
	}
}

// Extended records that the extension of a lease was acknowledged. lease is the lease after the
// extension.
func (l *Ledger) Extended(id Identity, lease Lease, now time.Time) {
	l.faults.extended.Add(1)
	if l.WatchesLeases() {
		l.Leased(id, lease, now)
	}
}

// ExtensionRefused records that the extension of a lease was refused because the lease had expired
// or its task no longer exists. now is the time when the caller learned of the refusal. If the
// lease was still valid, the refusal counts as unextended.
func (l *Ledger) ExtensionRefused(id Identity, lease Lease, now time.Time) {
	if lease.valid(now) {
		l.faults.add(&l.faults.unextended, 1, fmt.Sprintf("unextended: %s: an extension was refused although the lease with token %d was valid for another %v",
			id, lease.Token, lease.Until.Sub(now).Round(time.Millisecond)))
	}
}

// Repeated records that a task was enqueued twice under its idempotency key and that both enqueues
// were acknowledged. first and second are the IDs that the target returned. The task counts as
// rekeyed if the IDs differ, because an enqueue with a known key must return the ID of the first
// task.
func (l *Ledger) Repeated(id Identity, key, first, second string) {
	l.faults.repeated.Add(1)
	if first != second {
		l.faults.add(&l.faults.rekeyed, 1, fmt.Sprintf("rekeyed: %s was enqueued as %q under the key %q, and again as %q", id, first, key, second))
	}
}
