package queue

import (
	"fmt"
	"math"
	"slices"
)

// spareRefsMax limits the total capacity, in leases, of leases.spareRefs.
const spareRefsMax = 4 * maxBatch

// leases contains the lease batches of a shard.
type leases struct {
	*env
	queues *queues

	batches   map[uint64]*lease
	nextBatch uint64   // the number of the next batch
	found     *lease   // cache: the batch of the last lookup, or nil
	extended  []*lease // batches with extensions since the last Flush
	expiry    deadlines[*lease]
	pages     leasedPages
	// claimed contains the times of the claims of those batches that have tasks of queues with a
	// history. It is not a field of lease, because most batches need none.
	claimed map[uint64]int64

	spareRefs     [][]LeaseRef // empty lists for new batches
	spareRefsRoom int          // the sum of the capacities of spareRefs
}

// removeLease removes a task of the queue from its batch. If it was the last live task, removeLease
// also removes the batch.
func (ls *leases) removeLease(q *Queue, b *lease, ref *LeaseRef) {
	ls.pages.noteEnded(q, ref.Seq)
	ref.Attempt = 0
	b.live--
	if b.live == 0 {
		delete(ls.batches, b.id)
		if len(ls.claimed) > 0 {
			delete(ls.claimed, b.id)
		}
		ls.found = nil
		ls.expiry.remove(b)
		ls.journal.DropLease(b.id)
		ls.dropExtensions(b)
	}
}

// noteClaimed stores the time of the claim of a batch.
func (ls *leases) noteClaimed(b *lease, ms int64) {
	if ls.claimed == nil {
		ls.claimed = map[uint64]int64{}
	}
	ls.claimed[b.id] = ms
}

// claimedMs returns the time of the claim of a batch that has not ended, or 0 if it was not stored.
func (ls *leases) claimedMs(b *lease) int64 {
	if len(ls.claimed) == 0 {
		return 0
	}
	return ls.claimed[b.id]
}

func (ls *leases) recoverLease(r RecoveredLease) error {
	b := &lease{id: r.Batch, refs: r.Refs, index: -1, expiresMs: math.MaxInt64}
	for i := range b.refs {
		ref := &b.refs[i]
		if ref.Attempt == 0 {
			continue
		}
		q := ls.queues.byID[ref.Queue]
		if q == nil {
			return fmt.Errorf("lease batch %d names queue %d, which is not stored", r.Batch, ref.Queue)
		}
		b.note(ref)
		ls.pages.noteLeased(q, ref.Seq, Token(r.Batch, i))
	}
	if len(r.Extended) > 0 {
		x := b.extended()
		for _, i := range r.Extended {
			x.stored.add(i)
		}
	}
	ls.nextBatch = max(ls.nextBatch, r.Batch+1)
	if b.live == 0 {
		ls.journal.DropLease(b.id)
		ls.dropExtensions(b)
		return nil
	}
	if r.ClaimedMs != 0 {
		ls.noteClaimed(b, r.ClaimedMs)
	}
	ls.batches[b.id] = b
	ls.expiry.set(b)
	return nil
}

// lastToken returns a number that is not lower than any token issued so far, and lower than all
// later tokens.
func (ls *leases) lastToken() uint64 { return Token(ls.nextBatch, 0) - 1 }

func (ls *leases) newLease() *lease {
	b := &lease{id: ls.nextBatch, index: -1, expiresMs: math.MaxInt64}
	ls.nextBatch++
	before := len(ls.batches)
	if ls.batches[b.id] = b; len(ls.batches) == before {
		broken("lease batch %d is issued twice", b.id)
	}
	return b
}

// find returns the lease of a task, or nil if token is not the token of the task's current lease.
func (ls *leases) find(ref Ref, token uint64) (*lease, *LeaseRef) {
	batch, i := TokenPlace(token)
	b := ls.found
	if b == nil || b.id != batch {
		b = ls.batches[batch]
		ls.found = b
	}
	if b == nil || i >= len(b.refs) || b.refs[i].Attempt == 0 || b.refs[i].Ref != ref {
		return nil, nil
	}
	return b, &b.refs[i]
}

func (ls *leases) findLease(ref Ref) (*lease, *LeaseRef) {
	q := ls.queues.byID[ref.Queue]
	if q == nil {
		return nil, nil
	}
	return ls.find(ref, q.leased.token(ref.Seq))
}

// FindLease returns the current lease of a task, or false if it is not leased.
func (ls *leases) FindLease(ref Ref) (LeaseRef, bool) {
	if _, r := ls.findLease(ref); r != nil {
		return *r, true
	}
	return LeaseRef{}, false
}

// Leased reports whether the task is leased now.
func (ls *leases) Leased(t *Stored) bool {
	_, ref := ls.findLease(t.Ref)
	return ref != nil
}

func (ls *leases) part(t *Stored) part {
	switch {
	case ls.Leased(t):
		return partLeased
	case t.Dead:
		return partDead
	case t.HasDue:
		return partReturned
	}
	return partFresh
}

// KeepsResult reports whether a completion would store a result: the token belongs to the current
// lease, and the task has a result retention.
func (ls *leases) KeepsResult(ref Ref, token uint64) bool {
	_, leased := ls.find(ref, token)
	return leased != nil && leased.Extras.Shared().RetentionMs > 0
}

// Swept reports whether all leases that expired at or before byMs have been ended.
func (ls *leases) Swept(byMs int64) bool { return ls.expiry.nextMs() > byMs }

func (ls *leases) takeRefs() []LeaseRef {
	last := len(ls.spareRefs) - 1
	if last < 0 {
		return nil
	}
	refs := ls.spareRefs[last]
	ls.spareRefs = ls.spareRefs[:last]
	ls.spareRefsRoom -= cap(refs)
	return refs
}

// fit copies a complete batch to a list of exact size, since the batch may exist for long.
func (ls *leases) fit(b *lease) {
	refs := b.refs
	b.refs = slices.Clone(refs)
	if ls.spareRefsRoom+cap(refs) <= spareRefsMax {
		clear(refs)
		ls.spareRefs = append(ls.spareRefs, refs[:0])
		ls.spareRefsRoom += cap(refs)
	}
}
