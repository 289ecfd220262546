package ledger

import (
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/result"
)

// RecurringTenant is the tenant of the recurring tasks of a round. A Ledger does not count its tasks.
const RecurringTenant = "recurring"

// Recurring is the account of the recurring tasks of a round. It checks that each of their due times
// became exactly one task. It is safe for concurrent use.
type Recurring struct {
	intervalMs int64

	mu    sync.Mutex
	first map[string]int64            // the first due time of each recurring task
	ids   map[string]map[int64]string // the ID of the task of each due time
	late  *hdrhistogram.Histogram     // in nanoseconds
	count result.Recurring
}

// NewRecurring returns an account of recurring tasks whose due times are the multiples of an interval.
func NewRecurring(interval time.Duration) *Recurring {
	return &Recurring{
		intervalMs: interval.Milliseconds(), first: map[string]int64{}, ids: map[string]map[int64]string{}, late: result.NewHistogram(),
	}
}

// Begins records that a recurring task exists, and its first due time in Unix milliseconds. Its tasks
// may already have been received.
func (r *Recurring) Begins(name string, firstMs int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first[name] = firstMs
}

// Received records the delivery of a task of a recurring task for a due time. Further deliveries of
// the same task change nothing.
func (r *Recurring) Received(name, id string, dueMs int64, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if dueMs <= 0 || dueMs%r.intervalMs != 0 || dueMs > now.UnixMilli() {
		r.count.Unscheduled++
		r.sample("unscheduled: %s: task %s has the due time %d, which is no multiple of %d ms in the past", name, id, dueMs, r.intervalMs)
		return
	}
	dues := r.ids[name]
	if dues == nil {
		dues = map[int64]string{}
		r.ids[name] = dues
	}
	switch earlier, known := dues[dueMs]; {
	case !known:
		dues[dueMs] = id
		_ = r.late.RecordValue(min(max(0, now.UnixNano()-dueMs*1e6), int64(result.LatencyHighest)))
	case earlier != id:
		r.count.Twice++
		r.sample("twice: %s: the due time %d became the tasks %s and %s", name, dueMs, earlier, id)
	}
}

func (r *Recurring) sample(format string, args ...any) {
	if len(r.count.Samples) < samplesPerKind {
		r.count.Samples = append(r.count.Samples, fmt.Sprintf(format, args...))
	}
}

// Complete reports whether a task of each due time up to a time has been received.
func (r *Recurring) Complete(until time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	due := 0
	r.missing(until, func(string, int64) { due++ })
	return due == 0
}

// missing calls visit for each due time up to a time without a task. The caller must hold the mutex.
func (r *Recurring) missing(until time.Time, visit func(name string, dueMs int64)) (due uint64) {
	for name, first := range r.first {
		for at := first; at <= until.UnixMilli(); at += r.intervalMs {
			due++
			if _, received := r.ids[name][at]; !received {
				visit(name, at)
			}
		}
	}
	return due
}

// Balance returns the account of the due times up to a time. A due time whose task was not received
// is missed.
func (r *Recurring) Balance(until time.Time) (result.Recurring, *hdrhistogram.Histogram) {
	r.mu.Lock()
	defer r.mu.Unlock()
	missed := uint64(0)
	due := r.missing(until, func(name string, dueMs int64) {
		missed++
		r.sample("missed: %s: the due time %d became no task", name, dueMs)
	})
	all := r.count
	all.Due, all.Missed = due, missed
	return all, r.late
}
