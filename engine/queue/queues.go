package queue

import (
	"fmt"

	"github.com/google/btree"
)

// queues contains the queues of a shard, and the lists of those queues that need work.
type queues struct {
	*env
	accounts *accounts

	byName map[queueName]*Queue
	byID   map[uint32]*Queue
	names  *btree.BTreeG[*Queue] // the same queues in the order of their names
	absent map[queueName]*Queue  // queues without a record, for which waiters wait
	last   *Queue                // cache: the queue of the last lookup by name or number

	perTenant map[string]int // number of queues with a record of each tenant
	nextID    uint32
	seqMin    uint64 // no queue issues a lower seq
	seqMax    uint64 // higher than all issued seqs, for reserve

	hot   ring[*Queue] // queues that may have both ready tasks and waiters with credit
	dirty []*Queue
	// unseen contains the queues whose figures may have changed since TakeChanged last returned
	// them.
	unseen  ring[*Queue]
	deleted []uint32          // queues whose records the next Flush removes
	gone    []uint32          // queues deleted since the last TakeDeleted
	idle    deadlines[*Queue] // queues that visitIdle will visit

	dueCounts [Lanes]DueCount // see countsOf
}

// numbered returns the queue with an id. The queue must exist.
func (qs *queues) numbered(id uint32) *Queue {
	if q := qs.last; q != nil && q.record.ID == id {
		return q
	}
	qs.last = qs.byID[id]
	return qs.last
}

// queue returns the queue with a name. If there is no such queue with a record, it creates one.
func (qs *queues) queue(tenant, name string) (*Queue, error) {
	if q := qs.last; q != nil && q.record.Name == name && q.record.Tenant == tenant {
		return q, nil
	}
	key := queueName{tenant, name}
	q := qs.byName[key]
	if q == nil {
		switch n := qs.perTenant[tenant]; {
		case len(qs.byID) >= qs.cfg.Queues:
			return nil, fmt.Errorf("%w: the shard has %d", ErrTooManyQueues, len(qs.byID))
		case n >= qs.cfg.QueuesPerTenant:
			return nil, fmt.Errorf("%w: tenant %q has %d in the shard", ErrTooManyQueues, tenant, n)
		}
		if err := qs.accounts.charge(qs.cfg.Account(tenant), QueueBytes(tenant, name)); err != nil {
			return nil, err
		}
		q = qs.newQueue(Record{ID: qs.nextID, Tenant: tenant, Name: name})
		qs.touch(q)
	}
	qs.last = q
	return q, nil
}

// Queue returns the queue with an id.
func (qs *queues) Queue(id uint32) (*Queue, bool) {
	q, ok := qs.byID[id]
	return q, ok
}

// Named returns the queue with a name.
func (qs *queues) Named(tenant, name string) (*Queue, bool) {
	q, ok := qs.byName[queueName{tenant, name}]
	return q, ok
}

// QueueIDs returns the numbers of all queues, in no particular order.
func (qs *queues) QueueIDs() []uint32 {
	ids := make([]uint32, 0, len(qs.byID))
	for id := range qs.byID {
		ids = append(ids, id)
	}
	return ids
}

// awaited returns the queue of a name for a waiter. If the queue does not exist, awaited creates it
// without a record.
func (qs *queues) awaited(tenant, name string) (*Queue, error) {
	key := queueName{tenant, name}
	if q := qs.byName[key]; q != nil {
		return q, nil
	}
	q := qs.absent[key]
	if q == nil {
		if len(qs.absent) >= qs.cfg.Queues {
			return nil, fmt.Errorf("%w: %d are waited for", ErrTooManyQueues, len(qs.absent))
		}
		q = &Queue{record: Record{Tenant: tenant, Name: name}, account: qs.cfg.Account(tenant), index: -1}
		qs.absent[key] = q
	}
	return q, nil
}

// newQueue creates the queue of a record. If waiters wait for a queue of this name that has no
// record, newQueue uses that queue, with its waiters. The rates of the queue start at zero.
func (qs *queues) newQueue(r Record) *Queue {
	r.NextSeq = max(r.NextSeq, qs.seqMin)
	key := queueName{r.Tenant, r.Name}
	q := qs.absent[key]
	if q == nil {
		q = &Queue{account: qs.cfg.Account(r.Tenant), index: -1}
	}
	delete(qs.absent, key)
	q.record, q.stored = r, true
	q.unsound = !r.Counts.addUp()
	q.rates.enqueuedSeen, q.rates.completedSeen = r.Counts.Enqueued, r.Counts.Completed
	q.setPolicy(r.Policy)
	qs.show(q)
	qs.byName[key] = q
	qs.byID[r.ID] = q
	qs.names.ReplaceOrInsert(q)
	qs.nextID = max(qs.nextID, r.ID+1)
	qs.perTenant[r.Tenant]++
	return q
}

func (qs *queues) left(q *Queue) {
	q.subscriptions--
	if q.subscriptions == 0 && !q.stored {
		delete(qs.absent, queueName{q.record.Tenant, q.record.Name})
	}
	qs.watchIdle(q)
}

// deleteRecord deletes the record of a queue. The queue stays in memory while waiters wait for it.
func (qs *queues) deleteRecord(q *Queue) {
	key := queueName{q.record.Tenant, q.record.Name}
	delete(qs.byName, key)
	delete(qs.byID, q.record.ID)
	qs.names.Delete(q)
	qs.deleted, qs.gone = append(qs.deleted, q.record.ID), append(qs.gone, q.record.ID)
	if qs.perTenant[q.record.Tenant]--; qs.perTenant[q.record.Tenant] == 0 {
		delete(qs.perTenant, q.record.Tenant)
	}
	qs.idle.remove(q)
	qs.last, q.awaits = nil, false
	qs.accounts.free(q).bytes += QueueBytes(q.record.Tenant, q.record.Name)
	qs.accounts.reportFreed() // before the queue loses its record
	q.record, q.stored = Record{Tenant: q.record.Tenant, Name: q.record.Name}, false
	q.setPolicy(Policy{})
	q.keyedUntilS, q.uniques = 0, false
	if q.subscriptions > 0 {
		qs.absent[key] = q
	}
}

// TakeDeleted returns the numbers of the queues that were deleted since the last call.
func (qs *queues) TakeDeleted() []uint32 {
	gone := qs.gone
	qs.gone = nil
	return gone
}
