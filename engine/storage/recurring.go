package storage

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// PutRecurring implements queue.Journal.
func (b *Batch) PutRecurring(queueID uint32, name string, s *queue.RecurringSpec) {
	record.EncodeRecurring(&b.enc, s)
	b.set(record.RecurringKey(record.PrefixRecurring, queueID, name))
}

// PutRecurringProgress implements queue.Journal.
func (b *Batch) PutRecurringProgress(queueID uint32, name string, p *queue.RecurringProgress) {
	record.EncodeRecurringProgress(&b.enc, p)
	b.set(record.RecurringKey(record.PrefixRuns, queueID, name))
}

// DropRecurring implements queue.Journal.
func (b *Batch) DropRecurring(queueID uint32, name string) {
	b.delete(record.RecurringKey(record.PrefixRecurring, queueID, name))
	b.delete(record.RecurringKey(record.PrefixRuns, queueID, name))
}

// recurring returns all recurring tasks.
func (s *Reads) recurring() (out []queue.RecoveredRecurring, err error) {
	r := s.live()
	prefix := []byte{record.PrefixRecurring}
	err = s.scan(StepOther, prefix, prefix, func(k, v []byte) (bool, error) {
		var t queue.RecoveredRecurring
		if t.Queue, t.Name, err = record.ParseRecurringKey(k); err != nil {
			return false, err
		}
		if t.Spec, err = record.DecodeRecurring(v); err == nil {
			t.Progress, t.Unfinished, err = s.runs(r, t.Queue, t.Name)
		}
		if err != nil {
			return false, fmt.Errorf("recurring task %q of queue %d: %w", t.Name, t.Queue, err)
		}
		out = append(out, t)
		return true, nil
	})
	return out, err
}

// runs returns the progress of a recurring task, and whether its last task is neither done nor
// dead.
func (s *Reads) runs(r reader, queueID uint32, name string) (p queue.RecurringProgress, unfinished bool, err error) {
	s.by(StepOther).gets.Add(1)
	v, found, err := get(r, record.RecurringKey(record.PrefixRuns, queueID, name))
	if err != nil || !found {
		return p, false, cmp.Or(err, errNoProgress)
	}
	if p, err = record.DecodeRecurringProgress(v); err != nil || p.Runs == 0 {
		return p, false, err
	}
	s.by(StepOther).gets.Add(1)
	if unfinished, err = exists(r, record.RefKey(record.PrefixTask, p.Last)); err != nil || !unfinished {
		return p, false, err
	}
	s.by(StepOther).gets.Add(1)
	dead, err := exists(r, record.RefKey(record.PrefixDead, p.Last))
	return p, !dead, err
}

var errNoProgress = errors.New("its progress is not stored")
