package storage

import (
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// AuditedQueue is a queue's record with the number of tasks that the audit found.
type AuditedQueue struct {
	queue.Record
	// Stored is the number of the queue's stored tasks.
	Stored uint64
	// Counted is the number of tasks in each state according to the queue's counters. Found is the
	// number according to the tasks' records. Both are as of the time of the audit.
	Counted, Found States
}

// States contains the number of tasks in each state.
type States struct{ Ready, Delayed, Leased, Dead uint64 }

// Plus returns the field-wise sum.
func (a States) Plus(b States) States {
	return States{Ready: a.Ready + b.Ready, Delayed: a.Delayed + b.Delayed, Leased: a.Leased + b.Leased, Dead: a.Dead + b.Dead}
}

// Audit counts the stored tasks of each queue by their states at nowMs. It reads the tasks and the
// queues' records in one snapshot, and reads every task's key.
func (s *Reads) Audit(nowMs int64) (audited []AuditedQueue, err error) {
	snap := s.Snapshot()
	defer closeAfter(snap, &err)
	queues, err := snap.Queues()
	if err != nil {
		return nil, err
	}
	leased := map[uint32]uint64{}
	err = snap.Leases(func(l queue.RecoveredLease) (bool, error) {
		for i := range l.Refs {
			if l.Refs[i].Attempt != 0 {
				leased[l.Refs[i].Queue]++
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	for i := range queues {
		a := AuditedQueue{Record: queues[i]}
		a.Found.Leased = leased[a.ID]
		if err := a.count(snap, nowMs); err != nil {
			return nil, err
		}
		audited = append(audited, a)
	}
	return audited, nil
}

func (a *AuditedQueue) count(s Snapshot, nowMs int64) error {
	of := func(prefix byte) []byte { return append([]byte{prefix}, record.QueueKey(a.ID)[1:]...) }
	for prefix, n := range map[byte]*uint64{record.PrefixTask: &a.Stored, record.PrefixDead: &a.Found.Dead} {
		err := s.Scan(of(prefix), func(_, _ []byte) (bool, error) {
			*n++
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	due := uint64(0) // according to the counters
	if a.Due != nil {
		for n := range a.Due {
			due += a.Due[n].Tasks
		}
	}
	err := s.Scan(of(record.PrefixDue), func(k, _ []byte) (bool, error) {
		ref, lane, dueAtMs, err := record.ParseDueKey(k)
		if err != nil {
			return false, err
		}
		// The counters include the Due records up to a position in their order. The audit needs
		// those up to a time, so it corrects the sum.
		isDue, counted := dueAtMs <= nowMs, record.CountsDue(&a.Record, lane, dueAtMs, ref.Seq)
		if isDue && !counted {
			due++
		}
		if !isDue && counted {
			due--
		}
		if !isDue {
			a.Found.Delayed++
		}
		return true, nil
	})
	c := &a.Counts
	a.Counted = States{Ready: c.Fresh + due, Delayed: c.Returned - due, Leased: c.Leased, Dead: c.Dead}
	a.Found.Ready = a.Stored - min(a.Stored, a.Found.Delayed+a.Found.Leased+a.Found.Dead)
	return err
}
