package queue

import "fmt"

// dependencies tells waiting tasks of the ends of other tasks. A waiting task is a delayed task whose
// due time is NeverMs, with a Waiting record. A task that is named in
// After has a link record for each task that waits for it. A member of a batch has no link: its Extras
// contain the id of the final task.
//
// Every step from one task to another is a Message, whether the tasks are in the same shard or not:
//
//	enqueue of w, after a  ──▶ Link to a            ──▶ link record; or DependencyFinished to w, if a does not exist
//	end of a               ──▶ EndedTask to a       ──▶ DependencyFinished to w, for each link, some per turn
//	                           DependencyFinished   ──▶ Dependency record of w; if it is the last one, w becomes ready
//	end of a member of w   ──▶ MemberFinished to w  ──▶ as DependencyFinished
//	removal of w           ──▶ DroppedTask to w     ──▶ removes w's records, some per turn
//
// A message is stored in the commit that causes it, and removed once the commit with its effect is
// durable. It may be delivered again in between, or by an earlier leader of its shard. Each effect is
// therefore idempotent: a waiting task counts each task once, by its Dependency record, and a link
// that exists, or whose task was removed, is not made again.
type dependencies struct {
	*env
	accounts *accounts
	queues   *queues
	watches  *watches
	leases   *leases

	sent uint32 // bit n is set if the turn sent a message to shard n
}

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
	// MemberFinished. If Begun, it is the task of the last link of an EndedTask, or of the last record
	// of a DroppedTask, that was processed.
	Of      ID
	Begun   bool
	Outcome DependencyOutcome
	Result  []byte // only of a task that is done
	Omitted bool
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
	dp.sent |= 1 << to
}

// Outgoing returns the shards to which messages were sent since the last call: bit n stands for shard n.
// The Seqs of these messages, and of all earlier ones, are less than below.
func (s *State) Outgoing() (to uint32, below uint64) {
	to = s.dependencies.sent
	s.dependencies.sent = 0
	return to, s.nextBatch
}

// Delivered removes messages to another shard, whose effect is durable.
func (s *State) Delivered(to uint16, messages []Message) {
	for i := range messages {
		s.journal.DropMessage(to, messages[i].Seq)
	}
}

// keptPart returns the result that is kept for waiting tasks, or omitted if it is too long.
func keptPart(result []byte) (kept []byte, omitted bool) {
	if len(result) > DependencyResultMax {
		return nil, true
	}
	return result, false
}

// finished tells the tasks that wait for a task that it finished.
func (dp *dependencies) finished(ref *LeaseRef, outcome DependencyOutcome, result []byte) {
	q := dp.queues.numbered(ref.Queue)
	x := ref.Extras.depends()
	linked := q.record.Dependencies.Linked > 0 && dp.journal.FindLinked(ref.Ref)
	if x == nil && !linked {
		return
	}
	m := Message{Tenant: q.record.Tenant, Outcome: outcome}
	m.Result, m.Omitted = keptPart(result)
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
