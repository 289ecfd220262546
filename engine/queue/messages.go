package queue

import "fmt"

// MessageRecordsMax is the maximum number of links and Dependency records that messages which are
// applied together process.
const MessageRecordsMax = TurnMax / 2

// Known is what the store has about the dependencies of a task, as far as its messages need it. Like
// the task, it must not have changed since it was read.
type Known struct {
	Linked   uint32                   // number of links
	Result   *Result                  // the retained result of a task that is gone, for Links; or nil
	Waiters  map[ID]bool              // the links to the waiting tasks of Links
	Outcomes map[ID]DependencyOutcome // of the tasks of DependencyFinished and MemberFinished
	Links    []ID                     // of an EndedTask: links after Message.Of
	Records  []ID                     // of a DroppedTask: its Dependency records
	Waiting  Waiting                  // of a DroppedTask
	More     bool                     // there may be more Links or Records
}

// Receive applies the messages for one task, in order. t is nil if the task is not stored. The
// messages of this shard itself are removed with their effect; the sender removes the others.
func (s *State) Receive(to Ref, t *Stored, k *Known, messages []Message, own bool) {
	dp := &s.dependencies
	for i := range messages {
		m := &messages[i]
		s.worked++
		task, result := t, k.Result
		if q, exists := s.byID[to.Queue]; !exists || q.record.Tenant != m.Tenant {
			task, result = nil, nil
		}
		keep := false
		switch m.Kind {
		case Link:
			dp.link(task, result, k, m)
		case DependencyFinished, MemberFinished:
			if task != nil && task.Waits() {
				s.dependencyFinished(task, k, m)
			}
		case EndedTask:
			keep = dp.ended(k, m)
		case DroppedTask:
			keep = dp.dropped(k, m)
		}
		if own && !keep {
			s.journal.DropMessage(uint16(dp.cfg.Shard), m.Seq)
		}
	}
}

// link makes a link from a task to the task m.Of that waits for it.
func (dp *dependencies) link(t *Stored, result *Result, k *Known, m *Message) {
	answer := Message{Kind: DependencyFinished, Ref: m.Of.Ref, Tenant: m.Tenant, Of: dp.id(m.Ref)}
	switch {
	case k.Waiters[m.Of]: // even if the task was removed: then its EndedTask is not processed yet
		return
	case t == nil && result != nil && result.RetainedUntilMs > dp.nowMs:
		answer.Outcome = DependencyDone
		answer.Result, answer.Omitted = keptPart(result.Value)
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
func (dp *dependencies) ended(k *Known, m *Message) (more bool) {
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
	return k.More
}

// dropped removes some of the records of a removed task.
func (dp *dependencies) dropped(k *Known, m *Message) (more bool) {
	q := dp.queues.numbered(m.Ref.Queue)
	for _, id := range k.Records {
		dp.journal.DropDependency(m.Ref, id)
		m.Of, m.Begun = id, true
		dp.worked++
	}
	dp.queues.touch(q)
	if k.More {
		dp.journal.PutMessage(uint16(dp.cfg.Shard), m)
		return true
	}
	dp.journal.DropWaiting(m.Ref)
	q.record.Dependencies.Bytes -= k.Waiting.Bytes
	dp.accounts.free(q).bytes += int64(k.Waiting.Bytes)
	return false
}

// dependencyFinished records that a task finished, and that t waits for it. Afterwards t waits, or is
// ready or dead: further messages of the same delivery are applied to it.
func (s *State) dependencyFinished(t *Stored, k *Known, m *Message) {
	w := &t.Waiting
	left := &w.After
	if m.Kind == MemberFinished {
		left = &w.Members
	}
	before := k.Outcomes[m.Of]
	if *left == 0 && before == 0 || m.Outcome.rank() <= before.rank() {
		return // it has all members, or the message is outdated
	}
	counts := w.counts(m.Outcome) && !w.counts(before)
	dies := m.Outcome == DependencyRefused || w.Dead == DieToo && (m.Outcome == DependencyDead || m.Outcome == DependencyRemoved)
	if before == 0 {
		// More members than w.Total may have died without being counted.
		if !counts && !dies && w.Recorded >= w.Total {
			return
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
		s.storeAttempt(&ref, Attempt{EndedAtMs: s.nowMs, Outcome: Failed, Error: failed})
		s.withdraw(t)
		s.die(&ref, t.Progress.Token, DependencyDied, lastAttempt{error: failed})
		t.HasDue, t.Dead = false, true
	case w.Unfinished() == 0:
		s.move(t, t.Priority(), s.nowMs)
		t.Progress.DueAtMs = s.nowMs
	}
}

func dependencyError(m *Message) string {
	switch m.Outcome {
	case DependencyRefused:
		return fmt.Sprintf("%d tasks have already named task %s in after: use a batch", WaitersMax, m.Of)
	case DependencyRemoved:
		return fmt.Sprintf("this task waited for task %s, which was cancelled or purged", m.Of)
	case DependencyDone, DependencyDead, DependencyMissing:
	}
	return fmt.Sprintf("this task waited for task %s, which died", m.Of)
}
