package queue

import "fmt"

// dependencies tells waiting tasks of the ends of other tasks. A waiting task is a delayed task whose
// due time is NeverMs, with a Waiting record. The task for which it waits has a link to it: a member
// of a batch has the link in its Extras, from its enqueue on. A task that is named in After gets a
// link record with a Message when the waiting task is enqueued.
//
// Every step from one task to another is a Message, whether the tasks are in the same shard or not:
//
//	enqueue of w, after a  ──▶ Link to a            ──▶ link record; or DependencyFinished to w, if a is gone
//	end of a               ──▶ EndedTask to a       ──▶ DependencyFinished to w, for each link, some per turn
//	                           DependencyFinished   ──▶ Dependency record of w; if it is the last one, w becomes ready
//	end of a member of w   ──▶ MemberFinished to w  ──▶ as DependencyFinished
//	removal of w           ──▶ DroppedTask to w     ──▶ removes w's records, some per turn
//
// A message is stored in the commit that causes it, and removed once the commit with its effect is
// durable. It may be delivered again in between, or by an earlier leader of its shard. Each effect is
// therefore idempotent: a waiting task counts each task once, by its Dependency record, and a link
// that exists, or whose task is gone, is not made again.
type dependencies struct {
	*env
	accounts *accounts
	queues   *queues
	watches  *watches
	leases   *leases

	stored []int  // number of stored messages, by the shard that they are for
	sent   uint32 // bit n is set if the turn sent a message to shard n
}

// outboxMax is the number of messages to one shard above which Ended waits.
const outboxMax = 8 * TurnMax

// MessageKind is the kind of a Message.
type MessageKind uint8

// The kinds: see dependencies.
const (
	Link MessageKind = iota + 1
	DependencyFinished
	MemberFinished
	EndedTask   // only to a task of the same shard
	DroppedTask // only to a task of the same shard
)

// Message is a step of dependencies. Messages to one shard are delivered in the order of their Seqs.
type Message struct {
	Seq    uint64 // a number of a lease batch, so that it is never issued again
	Kind   MessageKind
	Ref    Ref    // the task that the message is for, in the shard that it is for
	Tenant string // of both tasks
	// Of is the waiting task of a Link, and the finished task of a DependencyFinished or
	// MemberFinished. If Begun, it is the waiting task of the last link that an EndedTask worked off.
	Of      ID
	Begun   bool
	Outcome DependencyOutcome
	Result  []byte // only of a task that is done
	Omitted bool
}

func (dp *dependencies) recover(stored []int) {
	dp.stored = make([]int, max(dp.shards(), len(stored)))
	for to, n := range stored {
		if dp.stored[to] = n; n > 0 {
			dp.sent |= 1 << to // so that the caller delivers them
		}
	}
}

func (dp *dependencies) shards() int { return max(1, dp.cfg.Shards) }

func (dp *dependencies) id(ref Ref) ID { return ID{Shard: uint16(dp.cfg.Shard), Ref: ref} }

// check returns an error if a new task names an id that this shard can see was never given to the
// tenant. Ids of other shards count as missing when their shard gets the Link.
func (dp *dependencies) check(tenant string, d *Dependencies) error {
	for i, id := range d.After {
		if !dp.given(tenant, id) {
			return &FieldError{fmt.Sprintf("after[%d]", i), fmt.Sprintf("%s was never given to a task of the tenant: pass an id as the server gave it", id)}
		}
	}
	if d.InBatch && !dp.given(tenant, d.Batch) {
		return &FieldError{"batch", fmt.Sprintf("%s was never given to a task of the tenant: pass an id as the server gave it", d.Batch)}
	}
	return nil
}

func (dp *dependencies) given(tenant string, id ID) bool {
	if int(id.Shard) != dp.cfg.Shard {
		return int(id.Shard) < dp.shards()
	}
	q, exists := dp.queues.Queue(id.Queue)
	if !exists {
		return id.Queue < dp.queues.nextID // its queue was deleted
	}
	return q.record.Tenant == tenant && id.Seq < q.record.NextSeq
}

// begin stores what a new task waits for. The caller has charged the tenant.
func (dp *dependencies) begin(q *Queue, ref Ref, d *Dependencies) {
	w := Waiting{After: uint32(len(d.After)), Members: d.BatchSize, Total: d.total(), Dead: d.Dead, Bytes: uint64(d.bytes())}
	dp.journal.PutWaiting(ref, w)
	q.record.Dependencies.Bytes += w.Bytes
	for _, id := range d.After {
		dp.send(id.Shard, Message{Kind: Link, Ref: id.Ref, Tenant: q.record.Tenant, Of: dp.id(ref)})
	}
}

// send stores a message.
func (dp *dependencies) send(to uint16, m Message) {
	m.Seq = dp.leases.nextBatch
	dp.leases.nextBatch++
	dp.journal.PutMessage(to, &m)
	dp.stored[to]++
	dp.sent |= 1 << to
}

// Outgoing returns the shards to which messages were sent since the last call: bit n stands for shard n.
func (s *State) Outgoing() uint32 {
	sent := s.dependencies.sent
	s.dependencies.sent = 0
	return sent
}

// Delivered removes messages to another shard, whose effect is durable.
func (s *State) Delivered(to uint16, messages []Message) {
	for i := range messages {
		s.dependencies.drop(to, messages[i].Seq)
	}
}

func (dp *dependencies) drop(to uint16, seq uint64) {
	dp.journal.DropMessage(to, seq)
	dp.stored[to]--
}

// finished tells the tasks that wait for a task that it finished.
func (dp *dependencies) finished(ref *LeaseRef, outcome DependencyOutcome, result []byte) {
	q := dp.queues.numbered(ref.Queue)
	x := ref.Extras.depends()
	linked := q.record.Dependencies.Linked > 0 && dp.journal.FindLinked(ref.Ref)
	if x == nil && !linked {
		return
	}
	m := Message{Tenant: q.record.Tenant, Outcome: outcome, Result: result}
	if len(result) > DependencyResultMax {
		m.Result, m.Omitted = nil, true
	}
	if linked {
		m.Kind, m.Ref = EndedTask, ref.Ref
		dp.send(uint16(dp.cfg.Shard), m)
	}
	if x == nil {
		return
	}
	if x.InBatch {
		m.Kind, m.Ref, m.Of = MemberFinished, x.Batch.Ref, dp.id(ref.Ref)
		dp.send(x.Batch.Shard, m)
	}
	if x.Waits && outcome != DependencyDead {
		dp.send(uint16(dp.cfg.Shard), Message{Kind: DroppedTask, Ref: ref.Ref, Tenant: q.record.Tenant})
	}
}
