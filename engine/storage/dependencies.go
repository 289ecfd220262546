package storage

import (
	"fmt"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// PutWaiting implements queue.Journal.
func (b *Batch) PutWaiting(ref queue.Ref, w queue.Waiting) {
	record.EncodeWaiting(&b.enc, w)
	b.set(b.refKey(record.PrefixWaiting, ref))
}

// DropWaiting implements queue.Journal.
func (b *Batch) DropWaiting(ref queue.Ref) { b.delete(b.refKey(record.PrefixWaiting, ref)) }

// PutDependency implements queue.Journal.
func (b *Batch) PutDependency(ref queue.Ref, d *queue.Dependency) {
	record.EncodeDependency(&b.enc, d)
	b.set(record.PairKey(record.PrefixWaiting, ref, d.ID))
}

// DropDependency implements queue.Journal.
func (b *Batch) DropDependency(ref queue.Ref, of queue.ID) {
	b.delete(record.PairKey(record.PrefixWaiting, ref, of))
}

// PutLinked implements queue.Journal.
func (b *Batch) PutLinked(ref queue.Ref, links uint32) {
	record.EncodeLinked(&b.enc, links)
	b.set(b.refKey(record.PrefixLink, ref))
	b.noteLinked(ref, true)
}

// DropLinked implements queue.Journal.
func (b *Batch) DropLinked(ref queue.Ref) {
	b.delete(b.refKey(record.PrefixLink, ref))
	b.noteLinked(ref, false)
}

// PutLink implements queue.Journal.
func (b *Batch) PutLink(ref queue.Ref, to queue.ID) {
	record.EncodeLink(&b.enc)
	b.set(record.PairKey(record.PrefixLink, ref, to))
}

// DropLink implements queue.Journal.
func (b *Batch) DropLink(ref queue.Ref, to queue.ID) {
	b.delete(record.PairKey(record.PrefixLink, ref, to))
}

func (b *Batch) noteLinked(ref queue.Ref, linked bool) {
	if b.linked == nil {
		b.linked = map[queue.Ref]bool{}
	}
	b.linked[ref] = linked
}

// FindLinked implements queue.Journal.
func (b *Batch) FindLinked(ref queue.Ref) bool {
	if linked, found := b.linked[ref]; found {
		return linked
	}
	for i := len(b.flights) - 1; i >= 0; i-- {
		if linked, found := b.flights[i].linked[ref]; found {
			return linked
		}
	}
	b.store.by(b.step).gets.Add(1)
	found, err := exists(b.store.live(), record.RefKey(record.PrefixLink, ref))
	b.note(err) // the commit then fails: a task could wait for ever
	return found
}

// PutMessage implements queue.Journal.
func (b *Batch) PutMessage(to uint16, m *queue.Message) {
	record.EncodeMessage(&b.enc, m)
	b.set(record.MessageKey(to, m.Seq))
}

// DropMessage implements queue.Journal.
func (b *Batch) DropMessage(to uint16, seq uint64) { b.delete(record.MessageKey(to, seq)) }

// EncodeMessages encodes messages for another node.
func EncodeMessages(messages []queue.Message) [][]byte {
	var e record.Encoder
	out := make([][]byte, len(messages))
	for i := range messages {
		record.EncodeMessage(&e, &messages[i])
		out[i] = append([]byte(nil), e.Bytes()...)
	}
	return out
}

// DecodeMessages decodes messages of another node.
func DecodeMessages(encoded [][]byte) ([]queue.Message, error) {
	out := make([]queue.Message, len(encoded))
	for i, b := range encoded {
		var err error
		if out[i], err = record.DecodeMessage(b); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return out, nil
}

// Messages returns the first messages to a shard with Seqs of at least from and less than below: at most
// limit, and approximately bytesMax bytes.
func (s *Reads) Messages(to uint16, from, below uint64, limit, bytesMax int) (out []queue.Message, err error) {
	bytes := 0
	err = s.scan(StepOther, record.MessageKey(to, from), record.MessagePrefix(to), func(k, v []byte) (bool, error) {
		m, err := record.DecodeMessage(v)
		switch {
		case err != nil:
			return false, fmt.Errorf("message %x: %w", k, err)
		case m.Seq >= below:
			return false, nil
		}
		out = append(out, m)
		bytes += len(v)
		return len(out) < limit && bytes < bytesMax, nil
	})
	return out, err
}

// outgoing returns the shards that have stored messages: bit n stands for shard n.
func (s *Reads) outgoing() (to uint32, err error) {
	for n := range uint16(32) {
		prefix := record.MessagePrefix(n)
		err = s.scan(StepOther, prefix, prefix, func(_, _ []byte) (bool, error) {
			to |= 1 << n
			return false, nil
		})
		if err != nil {
			return 0, err
		}
	}
	return to, nil
}

// Known reads what the messages for a task need to know. It reads at most left links and Dependency
// records, which it subtracts from left.
func (s *Reads) Known(ref queue.Ref, messages []queue.Message, left *int) (k queue.Known, err error) {
	k.Waiters, k.Outcomes = map[queue.ID]bool{}, map[queue.ID]queue.DependencyOutcome{}
	r, links := s.live(), false
	for i := range messages {
		m := &messages[i]
		s.by(StepOther).gets.Add(1)
		switch m.Kind {
		case queue.Link:
			links = true
			if k.Waiters[m.Of], err = exists(r, record.PairKey(record.PrefixLink, ref, m.Of)); err != nil {
				return k, err
			}
			_, err = view(r, record.RefKey(record.PrefixLink, ref), func(v []byte) (err error) {
				k.Linked, err = record.DecodeLinked(v)
				return record.Named(err, "links of task", ref)
			})
		case queue.DependencyFinished, queue.MemberFinished:
			_, err = view(r, record.PairKey(record.PrefixWaiting, ref, m.Of), func(v []byte) error {
				d, err := record.DecodeDependency(m.Of, v)
				k.Outcomes[m.Of] = d.Outcome
				return record.Named(err, "dependency of task", ref)
			})
		case queue.EndedTask:
			k.Links, k.More, err = s.pairs(record.PrefixLink, ref, m, left)
		case queue.DroppedTask:
			if k.Waiting, err = waitingOf(r, ref); err != nil {
				return k, err
			}
			k.Records, k.More, err = s.pairs(record.PrefixWaiting, ref, m, left)
		}
		if err != nil {
			return k, err
		}
	}
	if links {
		k.Result, err = s.resultOfGone(r, ref)
	}
	return k, err
}

// resultOfGone returns the result of a task that is not stored any more, or nil.
func (s *Reads) resultOfGone(r reader, ref queue.Ref) (*queue.Result, error) {
	stored, err := exists(r, record.RefKey(record.PrefixTask, ref))
	if err != nil || stored {
		return nil, err
	}
	buckets, err := s.buckets(record.PrefixResult)
	if err != nil {
		return nil, err
	}
	result, found, err := s.Result(ref, buckets)
	if err != nil || !found {
		return nil, err
	}
	return &result, nil
}

// pairs returns the ids in the pair keys of a task, after m.Of if m.Begun.
func (s *Reads) pairs(prefix byte, ref queue.Ref, m *queue.Message, left *int) (ids []queue.ID, more bool, err error) {
	all := record.RefKey(prefix, ref)
	from := append(append([]byte(nil), all...), 0)
	if m.Begun {
		from = append(record.PairKey(prefix, ref, m.Of), 0)
	}
	err = s.scan(StepOther, from, all, func(k, _ []byte) (bool, error) {
		if more = *left == 0; more {
			return false, nil
		}
		_, id, _, err := record.ParsePairKey(k)
		ids = append(ids, id)
		*left--
		return true, err
	})
	return ids, more, err
}

// waitingOf returns what a task waits for, or the zero value if it has no such record.
func waitingOf(r reader, ref queue.Ref) (w queue.Waiting, err error) {
	_, err = view(r, record.RefKey(record.PrefixWaiting, ref), func(v []byte) (err error) {
		w, err = record.DecodeWaiting(v)
		return record.Named(err, "dependencies of task", ref)
	})
	return w, err
}

// Dependencies returns a page of the finished tasks that a task waited for, in the order of their
// ids.
func (s *Reads) Dependencies(ref queue.Ref, after Place, limit, bytesMax int) (out []queue.Dependency, next Place, err error) {
	all := record.RefKey(record.PrefixWaiting, ref)
	from := append(append([]byte(nil), all...), 0)
	if len(after) > 0 {
		if _, _, pair, err := record.ParsePairKey(append([]byte{record.PrefixWaiting}, after...)); err != nil || !pair || string(after[:len(all)-1]) != string(all[1:]) {
			return nil, nil, ErrPlace
		}
		from = append(append([]byte{record.PrefixWaiting}, after...), 0)
	}
	bytes := 0
	err = s.scan(StepOther, from, all, func(k, v []byte) (bool, error) {
		if len(out) >= limit || bytes >= bytesMax {
			last := record.PairKey(record.PrefixWaiting, ref, out[len(out)-1].ID)
			next = last[1:]
			return false, nil
		}
		_, id, _, err := record.ParsePairKey(k)
		if err != nil {
			return false, err
		}
		d, err := record.DecodeDependency(id, v)
		out = append(out, d)
		bytes += len(v)
		return true, record.Named(err, "dependency of task", ref)
	})
	return out, next, err
}
