package load

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Readers are the ways to read the tasks of a workload's tenants.
type Readers struct {
	// Of has one reader for each tenant, in the order of the tenants. The caller owns the readers and closes them after Run has returned.
	Of []driver.Reader
	// Confined says that the access token of each reader is valid for its tenant only. Then the target must deny reads that name another tenant.
	Confined bool
}

const (
	// readersPerTenant is how many goroutines read the tasks of a tenant, with one call in flight each.
	readersPerTenant = 4
	// foreignEach: one of so many reads of a reader asks for another tenant's task.
	foreignEach = 8
	// readsWaitingMin and readsWaitingMax bound the reads of a tenant that are due and wait for a reader. Between, two calls' reads may wait.
	readsWaitingMin, readsWaitingMax = 64, 4096
)

// readable is a task whose enqueue was acknowledged.
type readable struct {
	ledger   *ledger.Ledger
	id       string // the target's
	identity ledger.Identity
	address  ledger.Address
}

// asked is a read of the task by a tenant.
func (t *readable) asked(by string) ledger.Asked {
	return ledger.Asked{By: by, ID: t.id, Identity: t.identity, Address: t.address}
}

// tenantReads are the reads of one tenant. Producers add to them, and never wait; the tenant's readers take.
type tenantReads struct {
	tenant  string
	waiting chan readable            // closed once all producers have ended
	latest  atomic.Pointer[readable] // that came due, for the readers of other tenants; nil before the first
}

// add has a task read, and returns false if too many reads wait.
func (t *tenantReads) add(task readable) bool {
	t.latest.Store(&task)
	select {
	case t.waiting <- task:
		return true
	default:
		return false
	}
}

// readShare says which of the tasks that one producer enqueues for one tenant are read. One goroutine uses it.
type readShare struct {
	of      *tenantReads
	perTask float64
	due     float64 // of a read, below 1
	dropped uint64  // reads that came due inside the window when too many waited
}

// openReads makes the reads of the workload's tenants, if it has any. Those of all workloads that run at once are in all.
func (r *round) openReads(all []*tenantReads) []*tenantReads {
	w := r.cfg.Workload
	if !w.ReadsTasks() {
		return all
	}
	r.cfg.Ledger.WatchReads()
	waiting := min(max(int(2*w.ReadsPerTask()*float64(w.EnqueueBatch())), readsWaitingMin), readsWaitingMax)
	for i, tenant := range tenantsOf(w) {
		reads := &tenantReads{tenant: tenant, waiting: make(chan readable, waiting)}
		r.reads = append(r.reads, reads)
		for range readersPerTenant {
			r.readers = append(r.readers, &reader{round: r, own: reads, session: r.cfg.Readers.Of[i]})
		}
	}
	return append(all, r.reads...)
}

// shareOf returns a producer's share of the reads of a tenant; nil without reads.
func (r *round) shareOf(tenant int) *readShare {
	if r.reads == nil {
		return nil
	}
	return &readShare{of: r.reads[tenant], perTask: r.cfg.Workload.ReadsPerTask()}
}

// checkReaders looks at whether the tenants of a workload with reads have readers.
func (p *problems) checkReaders(w scenario.Workload, readers Readers) {
	p.check(!w.ReadsTasks() || len(readers.Of) == w.Tenants, "%d readers given; a workload with reads has one for each of its %d tenants", len(readers.Of), w.Tenants)
	p.check(w.Reads >= 0 && w.Reads < 1, "workload.reads is %v; it must be from 0 to below 1", w.Reads)
}

var errNoIDs = errors.New("the driver returned no id with an acknowledged task, which reads ask for")

// haveRead has the tasks of a batch from first on read that were acknowledged and that the share falls on.
func (p *producer) haveRead(to *destination, first uint64, n int) {
	s, inside := to.reads, p.window.contains(p.clock.now())
	for i := range n {
		if p.outcomes[i] != nil {
			continue
		}
		if p.tasks[i].ID == "" {
			p.failure.set(fmt.Errorf("load: producer %d: %w", p.number, errNoIDs))
			return
		}
		for s.due += s.perTask; s.due >= 1; s.due-- {
			id := ledger.Identity{Round: p.cfg.Ledger.Round(), Producer: uint32(p.number), Sequence: first + uint64(i)}
			if !s.of.add(readable{p.cfg.Ledger, p.tasks[i].ID, id, to.address}) && inside {
				s.dropped++
			}
		}
	}
}

// reader is one goroutine that reads tasks in the name of a tenant. Its records are read only after it has returned.
type reader struct {
	*round
	own     *tenantReads
	session driver.Reader

	turn    uint64 // reads so far
	latency latencies
	record  result.Reads // of the window, without the dropped
	outside result.Reads // of the rest
	again   again

	_ [64]byte // keeps the counters of two goroutines off one cache line
}

// run reads what is due until all producers have ended. What is due after the window's end is not read.
func (r *reader) run(calls context.Context) {
	for task := range r.own.waiting {
		if calls.Err() != nil || r.clock.now() >= r.window.end() {
			continue
		}
		foreign, byName := (*readable)(nil), false
		if r.turn%foreignEach == foreignEach-1 {
			foreign = r.foreign(r.turn / foreignEach)
			byName = r.cfg.Readers.Confined && r.turn/foreignEach%2 == 1
		}
		r.turn++
		if foreign != nil {
			r.readForeign(calls, foreign, byName)
		} else {
			r.readOwn(calls, &task)
		}
	}
}

// foreign returns the latest task of another tenant: of the first one whose task is there, beginning with another tenant each time, or of
// any that has had one. It returns nil if none has.
func (r *reader) foreign(nth uint64) (any *readable) {
	n := uint64(len(r.allReads))
	for i := range n {
		other := r.allReads[(nth+i)%n]
		latest := other.latest.Load()
		if latest == nil || other.tenant == r.own.tenant {
			continue
		}
		if latest.ledger.Stored(latest.identity) {
			return latest
		}
		any = latest
	}
	return any
}

// readOwn reads a task of the tenant. It must be answered with the task or, once a completion was asked for, as not found.
func (r *reader) readOwn(calls context.Context, task *readable) {
	found, into, err := r.read(calls, r.own.tenant, task.id)
	// Looked up after the answer: if it is stored now, it was when the target answered.
	asked, stored := task.asked(r.own.tenant), task.ledger.Stored(task.identity)
	switch {
	case err == nil && task.ledger.ReadBack(asked, ledger.Answer{ID: found.ID, Tenant: found.Tenant, Queue: found.Queue, Payload: found.Payload}):
		into.Found++
	case err == nil:
		into.Wrong++
	case errors.Is(err, driver.ErrNotFound) && !stored:
		task.ledger.Read()
		into.Gone++
	case errors.Is(err, driver.ErrNotFound):
		task.ledger.Misread(asked, "was answered that there is no such task, though no completion of it had been asked for")
		into.Wrong++
	case errors.Is(err, driver.ErrDenied):
		task.ledger.Misread(asked, "was denied its own task")
		into.Wrong++
	default:
		r.unanswered(calls, task, into, err)
		return
	}
	into.Answered++
}

// readForeign reads another tenant's task: by its id in the name of the own tenant, where it must not be found, or in the name of the other
// tenant, which the access token must be denied.
func (r *reader) readForeign(calls context.Context, task *readable, byName bool) {
	name, want, promised := r.own.tenant, driver.ErrNotFound, "not found"
	if byName {
		name, want, promised = task.address.Tenant, driver.ErrDenied, "denied"
	}
	_, into, err := r.read(calls, name, task.id)
	asked := task.asked(r.own.tenant)
	switch {
	case err == nil:
		task.ledger.Misread(asked, "was answered with a task of another tenant")
		into.Wrong++
	case errors.Is(err, want):
		task.ledger.Read()
		into.Foreign++
		if task.ledger.Stored(task.identity) {
			into.ForeignStored++
		}
	case errors.Is(err, driver.ErrNotFound), errors.Is(err, driver.ErrDenied):
		task.ledger.Misread(asked, fmt.Sprintf("was refused otherwise than as %s, as a task of another tenant must be: %v", promised, err))
		into.Wrong++
	default:
		r.unanswered(calls, task, into, err)
		return
	}
	into.Answered++
}

// read makes one call, and returns the account to count it in: outside of the window one that nobody reads. The service time of an answer
// inside the window is recorded.
func (r *reader) read(calls context.Context, tenant, id string) (found driver.Found, into *result.Reads, err error) {
	called := r.clock.now()
	found, err = r.session.Read(calls, tenant, id)
	now := r.clock.now()
	answered := err == nil || errors.Is(err, driver.ErrNotFound) || errors.Is(err, driver.ErrDenied)
	if answered {
		r.again.answered()
	}
	if !r.window.contains(now) {
		return found, &r.outside, err
	}
	if answered {
		r.latency.record(now-called, 1)
	}
	return found, &r.record, err
}

// unanswered ends the load after a read that failed, unless it is to persist. A target that has no room is left alone for a while.
func (r *reader) unanswered(calls context.Context, task *readable, into *result.Reads, err error) {
	switch {
	case errors.Is(err, driver.ErrFull):
		into.Refused++
		r.again.wait(calls)
	case r.cfg.Persist:
		r.again.after(calls, fmt.Errorf("load: read of task %s by %s: %w", task.id, r.own.tenant, err))
	default:
		r.failure.call(calls, fmt.Errorf("load: read of task %s by %s: %w", task.id, r.own.tenant, err))
	}
}

// mergeReads adds what the readers recorded, and what the producers dropped, to the outcome of a load that reads.
func (r *round) mergeReads(o *Outcome) {
	if r.reads == nil {
		return
	}
	o.Reads, o.ReadLatency = &result.Reads{}, result.NewHistogram()
	for _, reader := range r.readers {
		o.Reads.Add(reader.record)
		o.Clamped += reader.latency.mergeInto(o.ReadLatency)
		o.FailedCalls.Add(reader.again.failed)
	}
	for _, p := range r.producers {
		for _, share := range p.shares {
			o.Reads.Dropped += share.dropped
		}
	}
}
