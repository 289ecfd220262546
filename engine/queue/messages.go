package queue

import (
	"errors"
	"fmt"
)

// ErrMessagesWait means that an EndedTask must wait until other shards have taken messages.
var ErrMessagesWait = errors.New("too many messages wait for other shards")

// MessageRecordsMax is the maximum number of links and Dependency records that messages which are
// applied together work off.
const MessageRecordsMax = TurnMax / 2

// Known is what the store has about the dependencies of a task, as far as its messages need it. Like
// the task, it must not have changed since it was read.
type Known struct {
	Linked   uint32                   // number of links
	Waiters  map[ID]bool              // the links to the waiting tasks of Links
	Outcomes map[ID]DependencyOutcome // of the tasks of DependencyFinished and MemberFinished
	Links    []ID                     // of an EndedTask: links after Message.Of
	Records  []ID                     // of a DroppedTask: its Dependency records
	Waiting  Waiting                  // of a DroppedTask
	More     bool                     // there may be more Links or Records
}

// Receive applies the messages for one task, in order. t is nil if the task is not stored. The
// messages of this shard itself are removed with their effect; the sender removes the others.
func (s *State) Receive(to Ref, t *Stored, k *Known, messages []Message, own bool) error {
	dp := &s.dependencies
	for i := range messages {
		m := &messages[i]
		s.worked++
		of := t // nil if the task is not the tenant's
		if t != nil && s.numbered(to.Queue).record.Tenant != m.Tenant {
			of = nil
		}
		keep := false
		switch m.Kind {
		case Link:
			dp.link(of, k, m)
		case DependencyFinished, MemberFinished:
			if of != nil && of.Waits() && s.dependencyFinished(of, k, m) {
				t = nil // it does not wait any more
			}
		case EndedTask:
			var err error
			if keep, err = dp.ended(k, m); err != nil {
				return err
			}
		case DroppedTask:
			keep = dp.dropped(k, m)
		}
		if own && !keep {
			dp.drop(uint16(dp.cfg.Shard), m.Seq)
		}
	}
	return nil
}

// link makes a link from a task to the task m.Of that waits for it.
func (dp *dependencies) link(t *Stored, k *Known, m *Message) {
	answer := Message{Kind: DependencyFinished, Ref: m.Of.Ref, Tenant: m.Tenant, Of: dp.id(m.Ref)}
	switch {
	case k.Waiters[m.Of]: // even if the task is gone: then its EndedTask is not worked off yet
		return
	case t == nil:
		answer.Outcome = DependencyMissing
	case k.Linked >= WaitersMax:
		answer.Outcome = DependencyRefused
	default:
		q := dp.queues.numbered(m.Ref.Queue)
		if k.Linked == 0 {
			q.record.Dependencies.Linked++
		}
		k.Linked++
		dp.journal.PutLink(m.Ref, m.Of)
		dp.journal.PutLinked(m.Ref, k.Linked)
		dp.watches.changed(m.Ref)
		dp.queues.touch(q)
		if !t.Dead {
			return
		}
		answer.Outcome = DependencyDead
	}
	dp.send(m.Of.Shard, answer)
}

// ended tells some of the tasks that wait for a task how it finished. A dead task keeps its links,
// because it may be redriven. more is true if the message must be delivered again.
func (dp *dependencies) ended(k *Known, m *Message) (more bool, err error) {
	for _, id := range k.Links {
		if dp.stored[id.Shard] >= outboxMax {
			return true, ErrMessagesWait
		}
	}
	q := dp.queues.numbered(m.Ref.Queue)
	for _, id := range k.Links {
		dp.send(id.Shard, Message{
			Kind: DependencyFinished, Ref: id.Ref, Tenant: m.Tenant, Of: dp.id(m.Ref), Outcome: m.Outcome, Result: m.Result, Omitted: m.Omitted,
		})
		if m.Outcome != DependencyDead {
			dp.journal.DropLink(m.Ref, id)
		}
		m.Of, m.Begun = id, true
		dp.worked++
	}
	dp.watches.changed(m.Ref)
	switch {
	case k.More:
		dp.journal.PutMessage(uint16(dp.cfg.Shard), m)
	case m.Outcome != DependencyDead:
		dp.journal.DropLinked(m.Ref)
		q.record.Dependencies.Linked--
	}
	dp.queues.touch(q)
	return k.More, nil
}

// dropped removes some of the records of a task that is gone.
func (dp *dependencies) dropped(k *Known, m *Message) (more bool) {
	q := dp.queues.numbered(m.Ref.Queue)
	for _, id := range k.Records {
		dp.journal.DropDependency(m.Ref, id)
		dp.worked++
	}
	dp.queues.touch(q)
	if k.More {
		return true
	}
	dp.journal.DropWaiting(m.Ref)
	q.record.Dependencies.Bytes -= k.Waiting.Bytes
	dp.accounts.free(q).bytes += int64(k.Waiting.Bytes)
	return false
}

// dependencyFinished records that a task finished for which the task t waits. It returns true if t
// does not wait any more.
func (s *State) dependencyFinished(t *Stored, k *Known, m *Message) (over bool) {
	w := &t.Waiting
	left := &w.After
	if m.Kind == MemberFinished {
		left = &w.Members
	}
	before := k.Outcomes[m.Of]
	if *left == 0 || m.Outcome.rank() <= before.rank() {
		return false // it has all members, or the message is outdated
	}
	counts := w.counts(m.Outcome) && !w.counts(before)
	dies := m.Outcome == DependencyRefused || w.Dead == DieToo && (m.Outcome == DependencyDead || m.Outcome == DependencyRemoved)
	if before == 0 {
		// More members than w.Total may have died without being counted.
		if !counts && !dies && w.Recorded >= w.Total {
			return false
		}
		w.Recorded++
	}
	q := s.numbered(t.Ref.Queue)
	d := Dependency{ID: m.Of, Outcome: m.Outcome, Result: m.Result, Omitted: m.Omitted}
	if n := int64(len(d.Result)); n > 0 {
		if s.charge(q.account, n) != nil { // the end of a task must always be counted
			d.Result, d.Omitted = nil, true
		} else {
			w.Bytes += uint64(n)
			q.record.Dependencies.Bytes += uint64(n)
		}
	}
	k.Outcomes[m.Of] = m.Outcome
	if counts {
		*left--
	}
	s.journal.PutDependency(t.Ref, &d)
	s.journal.PutWaiting(t.Ref, *w)
	s.changed(t.Ref)
	s.touch(q)
	switch {
	case dies:
		ref := t.ref()
		ref.Attempt++
		failed := dependencyError(m)
		s.remember(&ref, Attempt{EndedAtMs: s.nowMs, Outcome: Failed, Error: failed})
		s.withdraw(t)
		s.die(&ref, t.Progress.Token, DependencyDied, lastAttempt{error: failed})
		return true
	case w.Unfinished() == 0:
		s.move(t, t.Priority(), s.nowMs)
		return true
	}
	return false
}

func dependencyError(m *Message) string {
	switch m.Outcome {
	case DependencyRefused:
		return fmt.Sprintf("task %s already has %d waiting tasks: let fewer tasks wait for it", m.Of, WaitersMax)
	case DependencyRemoved:
		return fmt.Sprintf("task %s, for which this task waited, was cancelled or purged", m.Of)
	case DependencyDone, DependencyDead, DependencyMissing:
	}
	return fmt.Sprintf("task %s, for which this task waited, died", m.Of)
}
