package queue

import (
	"math"
	"strings"
)

// A queue whose policy asks for it has a history of its finished tasks: an entry for each task that
// was completed, died, or was cancelled or purged. The commit that ends the task also writes
// the entry. It has no payload. A dead task that is redriven gets another entry when it finishes
// again; removing a dead task writes none, because the task has finished before.
//
// The entries of a queue have consecutive positions, in the order of the ends of their tasks. The
// policy keeps the last Policy.HistoryTasksMax entries, for Policy.HistoryRetentionMs. Older entries
// are outdated: no list contains them (see Queue.History), and trimFinished drops a few of them with
// each new entry and with each Tick. It needs the time and the charge of an entry to drop it. The state
// has these in memory for a limited number of the oldest entries of a queue, and requests those of
// the next entries with a Refill.

const (
	// HistoryTasksLimit is the maximum number of entries of one queue in a shard, even if its policy
	// limits only their age. An entry occupies about 150 bytes, so the history of a queue occupies
	// about 150 MB in a shard, and a check of the store or a search for one task reads it in seconds.
	HistoryTasksLimit = 1_000_000
	// HistoryRetentionMsMax is the maximum age of an entry.
	HistoryRetentionMsMax = 366 * 24 * 3600_000
	// finishedErrorMax limits the bytes of the error text of an entry.
	finishedErrorMax = 512
	// finishedTrimMax is the number of entries that are dropped with a new one. It is more than 1, so
	// that a history whose limit was lowered becomes shorter while tasks finish.
	finishedTrimMax = 4
	// finishedRetryMs is the time after which the state repeats a Refill whose answer was empty.
	finishedRetryMs = 1_000
)

// Finish is how a task finished.
type Finish uint8

// The ways to finish. A task with a unique key that another task replaced was cancelled.
const (
	FinishCompleted Finish = iota + 1
	FinishDied
	FinishCancelled
	FinishPurged
)

// Finished is the entry of a finished task in the history of its queue.
type Finished struct {
	Ref           Ref
	PriorityShift int8 // as in Progress
	How           Finish
	Reason        Reason // of FinishDied
	Attempts      uint32 // number of used attempts, including that of the lease that ended
	// EnqueuedAtMs is 0 and Headers is empty if the task finished before its record could be read.
	EnqueuedAtMs int64
	Claims       Claims
	FinishedAtMs int64
	Headers      Headers
	LastError    string // of the last failed attempt; bounded
}

// Claims contains the times of the first and the last claim of a task. A time is 0 if there was no
// claim, or if the queue had no history at that time.
type Claims struct{ FirstMs, LastMs int64 }

// FinishedCounts describes the entries of one queue: those with the positions First to Next-1.
type FinishedCounts struct {
	First, Next uint64
	Bytes       uint64 // their charge
}

func (c *FinishedCounts) count() uint64 { return c.Next - c.First }

// FinishedSize is what the state needs to know about an entry to drop it.
type FinishedSize struct {
	AtMs  int64
	Bytes int64 // the charge
}

// Size returns the size of an entry.
func (f *Finished) Size() FinishedSize {
	return FinishedSize{f.FinishedAtMs, FinishedBytes(len(f.Headers), len(f.LastError))}
}

// finishedTasks is the part of a queue's history that is in memory.
type finishedTasks struct {
	queue  *Queue
	window []FinishedSize // of the first entries
	asked  bool           // a Refill is unanswered
	atMs   int64          // time of the next work of trimDue
	index  int            // place in retention.finished
}

func (h *finishedTasks) deadlineMs() int64 { return h.atMs }
func (h *finishedTasks) place() *int       { return &h.index }

func (p *Policy) keepsHistory() bool { return p.HistoryTasksMax > 0 || p.HistoryRetentionMs > 0 }

// historyMax returns the maximum number of entries.
func (p *Policy) historyMax() uint64 {
	if !p.keepsHistory() {
		return 0
	}
	return uint64(orDefault(p.HistoryTasksMax, HistoryTasksLimit))
}

// HistoryRange describes the entries of a queue that are not outdated: those with the positions
// First to Next-1 whose time is after AfterMs.
type HistoryRange struct {
	First, Next uint64
	AfterMs     int64
}

// History returns the entries of a queue that are not outdated.
func (q *Queue) History(nowMs int64) HistoryRange {
	p, c := &q.record.Policy, &q.record.Finished
	r := HistoryRange{First: c.First, Next: c.Next, AfterMs: math.MinInt64}
	if most := p.historyMax(); c.count() > most {
		r.First = c.Next - most
	}
	if p.HistoryRetentionMs > 0 {
		r.AfterMs = nowMs - int64(p.HistoryRetentionMs)
	}
	return r
}

// lastAttempt is what the caller of retention.finished knows about the last attempt of a task.
type lastAttempt struct {
	claimedMs int64  // of the lease that ended; 0 if it is not known, or the task was not leased
	failures  uint32 // number of the last failed attempt
	error     string // of that attempt, if it ended in this commit
}

// finished returns the entry of a task that is about to finish, or nil if its queue has no history.
// The records of the task must still exist.
func (r *retention) finished(ref *LeaseRef, how Finish, reason Reason, last lastAttempt) *Finished {
	if !r.queues.numbered(ref.Queue).record.Policy.keepsHistory() {
		return nil
	}
	f := &Finished{
		Ref: ref.Ref, PriorityShift: ref.PriorityShift, How: how, Reason: reason, Attempts: ref.Attempt,
		Claims: r.claims(ref, last.claimedMs), FinishedAtMs: r.nowMs, LastError: last.error,
	}
	f.EnqueuedAtMs, f.Headers = r.journal.FindHead(ref.Ref)
	if f.LastError == "" && last.failures > 0 {
		f.LastError = r.journal.FindError(ref.Ref, last.failures)
	}
	if len(f.LastError) > finishedErrorMax {
		f.LastError = strings.ToValidUTF8(f.LastError[:finishedErrorMax], "")
	}
	return f
}

// claims returns the times of the claims of a task whose lease, which began at claimedMs, ends. If
// its queue has no history, it returns the zero value.
func (r *retention) claims(ref *LeaseRef, claimedMs int64) Claims {
	if !r.queues.numbered(ref.Queue).record.Policy.keepsHistory() {
		return Claims{}
	}
	c := Claims{claimedMs, claimedMs}
	if ref.HasProgress {
		before := r.journal.FindClaims(ref.Ref)
		c.FirstMs, c.LastMs = orDefault(before.FirstMs, claimedMs), orDefault(claimedMs, before.LastMs)
	}
	return c
}

// keepFinished writes the entry of a task that has finished, if it is not nil. The room of the
// removed task pays for the entry. Only the entry of a dead task, or of one whose result is stored, may
// need an additional charge. If the tenant's quota of bytes refuses the charge, the entry is omitted,
// because a task must always be able to finish.
func (r *retention) keepFinished(f *Finished) {
	if f == nil {
		return
	}
	q, size := r.queues.numbered(f.Ref.Queue), f.Size()
	if freed := r.accounts.free(q); freed.bytes >= size.Bytes {
		freed.bytes -= size.Bytes
	} else if r.accounts.charge(q.account, size.Bytes) != nil {
		return
	}
	h, c := r.history(q), &q.record.Finished
	r.journal.PutFinished(c.Next, f)
	if n := len(h.window); uint64(n) == c.count() && n < r.cfg.finishedWindow {
		h.window = append(h.window, size)
	}
	c.Next++
	c.Bytes += uint64(size.Bytes)
	r.trimFinished(h, finishedTrimMax)
	r.queues.touch(q)
}

// history returns the history of a queue, and creates it if necessary.
func (r *retention) history(q *Queue) *finishedTasks {
	if q.finished == nil {
		q.finished = &finishedTasks{queue: q, index: -1}
	}
	return q.finished
}

// resumeHistory continues to trim the history of a queue that was recovered or whose policy changed.
func (r *retention) resumeHistory(q *Queue) {
	if q.finished != nil || q.record.Finished != (FinishedCounts{}) {
		r.scheduleTrim(r.history(q))
	}
}

// trimDue drops outdated entries of queues whose deadline in retention.finished has passed. It drops
// approximately up to Config.SweepMax entries. If there are more, the next Tick runs immediately and
// continues.
func (r *retention) trimDue() {
	for left := r.cfg.SweepMax; left > 0; {
		h, ok := r.finishing.next()
		if !ok || h.atMs > r.nowMs {
			return
		}
		n := r.trimFinished(h, left)
		r.worked += n
		left -= max(1, n)
	}
}

// trimFinished drops up to most outdated entries, the oldest first. It returns their number.
func (r *retention) trimFinished(h *finishedTasks, most int) (n int) {
	q := h.queue
	c, live := &q.record.Finished, q.History(r.nowMs)
	bytes := int64(0)
	for n < min(most, len(h.window)) && (c.First+uint64(n) < live.First || h.window[n].AtMs <= live.AfterMs) {
		bytes += h.window[n].Bytes
		n++
	}
	if n > 0 {
		r.journal.DropFinished(q.record.ID, c.First, c.First+uint64(n))
		h.window = h.window[n:]
		c.First += uint64(n)
		c.Bytes -= uint64(bytes)
		r.accounts.free(q).bytes += bytes
		r.queues.touch(q)
	}
	r.scheduleTrim(h)
	return n
}

// scheduleTrim sets the deadline of a history. If the sizes of its first entries are needed and not in
// memory, it requests them. It removes a history that is empty and off, so that the record of the
// queue has the format of a queue without history again.
func (r *retention) scheduleTrim(h *finishedTasks) {
	q := h.queue
	p, c := &q.record.Policy, &q.record.Finished
	over := c.count() > p.historyMax()
	switch {
	case h.asked || c.count() == 0 || !over && p.HistoryRetentionMs == 0:
		r.finishing.remove(h)
		if !h.asked && c.count() == 0 && !p.keepsHistory() {
			if *c != (FinishedCounts{}) {
				*c = FinishedCounts{}
				r.queues.touch(q)
			}
			q.finished = nil
		}
		return
	case len(h.window) == 0:
		r.finishing.remove(h)
		h.asked, h.window = true, nil
		r.refills = append(r.refills, Refill{Stream: StreamFinished, Queue: q.record.ID, FromSeq: c.First, Limit: r.cfg.finishedWindow})
		return
	case over:
		h.atMs = r.nowMs
	default:
		h.atMs = h.window[0].AtMs + int64(p.HistoryRetentionMs)
	}
	r.finishing.set(h)
}

// RefillFinished answers a Refill of StreamFinished with the sizes of the entries from r.FromSeq on,
// without gaps. If it is empty, the state requests them again later.
func (s *State) RefillFinished(r Refill, sizes []FinishedSize) {
	s.worked += len(sizes)
	q := s.byID[r.Queue]
	if q == nil || q.finished == nil || !q.finished.asked {
		return
	}
	h, c := q.finished, &q.record.Finished
	h.asked = false
	h.window = sizes[:min(uint64(len(sizes)), c.count())]
	if len(h.window) == 0 && c.count() > 0 {
		h.atMs = s.nowMs + finishedRetryMs
		s.finishing.set(h)
		return
	}
	s.scheduleTrim(h)
}

// dropHistory drops the history of a queue that is deleted.
func (r *retention) dropHistory(q *Queue) {
	if c := &q.record.Finished; c.count() > 0 {
		r.journal.DropFinished(q.record.ID, c.First, c.Next)
		r.accounts.free(q).bytes += int64(c.Bytes)
	}
	if q.finished != nil {
		r.finishing.remove(q.finished)
		q.finished = nil
	}
	q.record.Finished = FinishedCounts{}
}
