package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// way defines how readers make reads of one kind.
type way struct {
	readers int // goroutines for each tenant, each with one call in flight
	// ofOwn reads a task or queue of the reader's own tenant and checks the answer.
	ofOwn func(r *reader, calls context.Context, task *readable)
	// ofForeign reads a task or queue of another tenant. name is the tenant that the call names.
	ofForeign func(r *reader, calls context.Context, name string, task *readable) error
	// byName is set if a cross-tenant read must name the other tenant. Only an access token can
	// then prevent the read.
	byName bool
	what   string // object of the read, for errors
	how    string // predicate of the read, see ledger.Asked.How
}

// ways contains the way of each kind of read. An await takes until its task ends, so awaits need
// more readers.
var ways = map[string]way{
	scenario.ReadGet:   {readers: 4, ofOwn: (*reader).get, ofForeign: (*reader).getForeign, what: "a task"},
	scenario.ReadList:  {readers: 4, ofOwn: (*reader).list, ofForeign: (*reader).listForeign, byName: true, what: "the tasks of a queue", how: "listed the queue of"},
	scenario.ReadStats: {readers: 4, ofOwn: (*reader).stats, ofForeign: (*reader).statsForeign, byName: true, what: "the figures of a queue", how: "asked for the figures of the queue of"},
	scenario.ReadAwait: {readers: 16, ofOwn: (*reader).await, ofForeign: (*reader).awaitForeign, what: "the end of a task", how: "awaited the end of"},
}

// reader is one goroutine that makes reads for a tenant. Other goroutines may read its records only
// after it has returned.
type reader struct {
	*round
	kind   string
	way    way
	own    *tenantReads
	tasks  driver.Reader      // nil for a kind that reads queues
	queues driver.QueueReader // nil for a kind that reads tasks

	returned resulting // the results that the workload's completions should have

	turn    uint64 // reads so far
	leased  bool   // whether the last list of an own queue asked for leased tasks
	latency latencies
	record  result.Reads // reads inside the window, without dropped reads
	outside result.Reads // reads outside the window
	again   again

	_ [64]byte // keeps the counters of different goroutines on different cache lines
}

func newReader(r *round, kind string, tenant int) *reader {
	made := &reader{round: r, way: ways[kind], kind: kind, own: r.reads[tenant], returned: newResulting(r.cfg.Workload)}
	if kind == scenario.ReadList || kind == scenario.ReadStats {
		made.queues = r.cfg.Readers.Queues[tenant]
	} else {
		made.tasks = r.cfg.Readers.Of[tenant]
	}
	return made
}

// run makes the due reads until all producers have ended. It skips reads that become due after the
// window's end.
func (r *reader) run(calls context.Context) {
	for task := range r.own.waiting[r.kind] {
		if calls.Err() != nil || r.clock.now() >= r.window.end() {
			continue
		}
		foreign, byName := (*readable)(nil), false
		if r.turn%foreignEach == foreignEach-1 && (r.cfg.Readers.Confined || !r.way.byName) {
			foreign = r.foreignTask(r.turn / foreignEach)
			byName = r.way.byName || r.cfg.Readers.Confined && r.turn/foreignEach%2 == 1
		}
		r.turn++
		if foreign != nil {
			r.readForeign(calls, foreign, byName)
		} else {
			r.way.ofOwn(r, calls, &task)
		}
	}
}

// foreignTask returns a recent task of another tenant, or nil if no other tenant has had one. It
// prefers a task that the target must still store. The search starts at a tenant that nth selects.
func (r *reader) foreignTask(nth uint64) (any *readable) {
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

// readForeign makes a cross-tenant read. If byName is true, the call names the other tenant, and
// the target must deny it. Otherwise the call names the reader's own tenant, and the target must
// not find the task.
func (r *reader) readForeign(calls context.Context, task *readable, byName bool) {
	name, want, promised := r.own.tenant, driver.ErrNotFound, "not found"
	if byName {
		name, want, promised = task.address.Tenant, driver.ErrDenied, "denied"
	}
	into, err := r.ask(func() error { return r.way.ofForeign(r, calls, name, task) })
	asked := r.asked(task)
	switch {
	case err == nil:
		r.misread(task, asked, into, "cross-tenant read: got "+r.way.what+", expected a refusal")
	case errors.Is(err, want):
		task.ledger.Read()
		into.Foreign++
		if task.ledger.Stored(task.identity) {
			into.ForeignStored++
		}
	case errors.Is(err, driver.ErrNotFound), errors.Is(err, driver.ErrDenied):
		r.misread(task, asked, into, fmt.Sprintf("cross-tenant read: expected %s for %s, got: %v", promised, r.way.what, err))
	default:
		r.unanswered(calls, task, into, err)
		return
	}
	into.Answered++
}

func (r *reader) asked(task *readable) ledger.Asked {
	return ledger.Asked{By: r.own.tenant, How: r.way.how, ID: task.id, Identity: task.identity, Address: task.address}
}

func (r *reader) misread(task *readable, asked ledger.Asked, into *result.Reads, why string) {
	task.ledger.Misread(asked, why)
	into.Wrong++
}

// ask makes one call. It returns the account that the caller must add the call to. For a call
// outside the window this is r.outside; only its mismatches are used. ask records the service time
// of a call that was answered inside the window.
func (r *reader) ask(call func() error) (into *result.Reads, err error) {
	called := r.clock.now()
	err = call()
	now := r.clock.now()
	answered := err == nil || errors.Is(err, driver.ErrNotFound) || errors.Is(err, driver.ErrDenied)
	if answered {
		r.again.answered()
	}
	if !r.window.contains(now) {
		return &r.outside, err
	}
	if answered {
		r.latency.record(now-called, 1)
	}
	return &r.record, err
}

// unanswered handles a failed read. Without Persist it ends the load. If the target is full, it
// pauses the reader.
func (r *reader) unanswered(calls context.Context, task *readable, into *result.Reads, err error) {
	failed := fmt.Errorf("load: %s of task %s by %s: %w", r.verb(), task.id, r.own.tenant, err)
	switch {
	case errors.Is(err, driver.ErrFull):
		into.Refused++
		r.again.wait(calls)
	case r.cfg.Persist:
		r.again.after(calls, failed)
	default:
		r.failure.call(calls, failed)
	}
}

func (r *reader) verb() string {
	if r.kind == scenario.ReadGet {
		return "read"
	}
	return r.kind
}
