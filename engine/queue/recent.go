package queue

import (
	"slices"
	"strings"
)

const (
	// RecentMax is the number of failures that a State remembers.
	RecentMax = 128
	// recentErrorMax limits the bytes of each error text.
	recentErrorMax = 512
)

// Failure is an attempt that failed, a lease that expired, or a task that died.
type Failure struct {
	Tenant, Queue string
	Ref           Ref
	Number        uint32 // of the attempt, or of the last one
	// Attempt has the outcome and the error. Its Outcome is 0 if the task died without an attempt that
	// failed at this time, because its time to live ended.
	Attempt
	// Died is the reason if the task died, and 0 if it returned to the queue.
	Died Reason
}

// recent contains the latest failures. Like Events, it is not stored.
type recent struct {
	all  []Failure // a ring after the first RecentMax failures
	next int       // the index in all of the next failure
}

func (r *recent) add(f Failure) {
	// The text may share memory with a request.
	f.Error = strings.Clone(strings.ToValidUTF8(f.Error[:min(len(f.Error), recentErrorMax)], ""))
	if len(r.all) < RecentMax {
		if r.all == nil {
			r.all = make([]Failure, 0, RecentMax)
		}
		r.all = append(r.all, f)
		r.next = len(r.all) % RecentMax
		return
	}
	r.all[r.next] = f
	r.next = (r.next + 1) % RecentMax
}

// died records that a task died, with its last failure if both are of the same attempt.
func (r *recent) died(f Failure) {
	if n := len(r.all); n > 0 {
		last := &r.all[(r.next+n-1)%n]
		if last.Ref == f.Ref && last.Number == f.Number && last.EndedAtMs == f.EndedAtMs {
			last.Died = f.Died
			return
		}
	}
	r.add(f)
}

// RecentFailures returns the latest failures of the queue of a tenant, the latest first. An empty
// tenant or queue means all of them.
func (s *State) RecentFailures(tenant, queue string) (out []Failure) {
	r := &s.recent
	for i := range r.all {
		f := &r.all[(r.next+i)%len(r.all)]
		if (tenant == "" || f.Tenant == tenant) && (queue == "" || f.Queue == queue) {
			out = append(out, *f)
		}
	}
	s.worked += len(r.all)
	slices.Reverse(out)
	return out
}
