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

// way is how reads of one kind are made.
type way struct {
	readers int // goroutines that read for one tenant, with one call in flight each
	// ofOwn reads a task of the tenant, or its queue, and judges the answer.
	ofOwn func(r *reader, calls context.Context, task *readable)
	// ofForeign makes the call for a task of another tenant, or its queue, in the name of a tenant.
	ofForeign func(r *reader, calls context.Context, name string, task *readable) error
	// byName says that each read of another tenant's names that tenant, and only an access token can keep the read from it.
	byName bool
	what   string // it asks for
	how    string // it asks, as ledger.Asked has it
}

// ways are those of each kind. Awaits take as long as their tasks do, so there are more of them at once.
var ways = map[string]way{
	scenario.ReadGet:   {readers: 4, ofOwn: (*reader).get, ofForeign: (*reader).getForeign, what: "a task"},
	scenario.ReadList:  {readers: 4, ofOwn: (*reader).list, ofForeign: (*reader).listForeign, byName: true, what: "the tasks of a queue", how: "listed the queue of"},
	scenario.ReadStats: {readers: 4, ofOwn: (*reader).stats, ofForeign: (*reader).statsForeign, byName: true, what: "the figures of a queue", how: "asked for the figures of the queue of"},
	scenario.ReadAwait: {readers: 16, ofOwn: (*reader).await, ofForeign: (*reader).awaitForeign, what: "the end of a task", how: "awaited the end of"},
}

// reader is one goroutine that reads in the name of a tenant. Its records are read only after it has returned.
type reader struct {
	*round
	kind   string
	way    way
	own    *tenantReads
	tasks  driver.Reader      // of the tenant; nil of a kind that reads queues
	queues driver.QueueReader // of the tenant; nil of a kind that reads tasks

	returned resulting // what results the tasks are completed with

	turn    uint64 // reads so far
	leased  bool   // the last list of the own queue was of leased tasks
	latency latencies
	record  result.Reads // of the window, without the dropped
	outside result.Reads // of the rest
	again   again

	_ [64]byte // keeps the counters of two goroutines off one cache line
}

// newReader returns a reader of a kind for one of the round's tenants, by its number.
func newReader(r *round, kind string, tenant int) *reader {
	made := &reader{round: r, way: ways[kind], kind: kind, own: r.reads[tenant], returned: newResulting(r.cfg.Workload)}
	if kind == scenario.ReadList || kind == scenario.ReadStats {
		made.queues = r.cfg.Readers.Queues[tenant]
	} else {
		made.tasks = r.cfg.Readers.Of[tenant]
	}
	return made
}

// run reads what is due until all producers have ended. What is due after the window's end is not read.
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

// foreignTask returns the latest task of another tenant: of the first one whose task is there, beginning with another tenant each time, or
// of any that has had one. It returns nil if none has.
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

// readForeign reads another tenant's task or queue: by the task's id in the name of the own tenant, where it must not be found, or in the
// name of the other tenant, which the access token must be denied.
func (r *reader) readForeign(calls context.Context, task *readable, byName bool) {
	name, want, promised := r.own.tenant, driver.ErrNotFound, "not found"
	if byName {
		name, want, promised = task.address.Tenant, driver.ErrDenied, "denied"
	}
	into, err := r.ask(func() error { return r.way.ofForeign(r, calls, name, task) })
	asked := r.asked(task)
	switch {
	case err == nil:
		r.misread(task, asked, into, "was answered with "+r.way.what+" of another tenant")
	case errors.Is(err, want):
		task.ledger.Read()
		into.Foreign++
		if task.ledger.Stored(task.identity) {
			into.ForeignStored++
		}
	case errors.Is(err, driver.ErrNotFound), errors.Is(err, driver.ErrDenied):
		r.misread(task, asked, into, fmt.Sprintf("was refused otherwise than as %s, as %s of another tenant must be: %v", promised, r.way.what, err))
	default:
		r.unanswered(calls, task, into, err)
		return
	}
	into.Answered++
}

// asked is the reader's read of a task or its queue.
func (r *reader) asked(task *readable) ledger.Asked {
	return ledger.Asked{By: r.own.tenant, How: r.way.how, ID: task.id, Identity: task.identity, Address: task.address}
}

// misread notes an answer that is wrong.
func (r *reader) misread(task *readable, asked ledger.Asked, into *result.Reads, why string) {
	task.ledger.Misread(asked, why)
	into.Wrong++
}

// ask makes one call, and returns the account to count it in: outside of the window one of which only the mismatches are read. The service
// time of an answer inside the window is recorded.
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

// unanswered ends the load after a read that failed, unless it is to persist. A target that has no room is left alone for a while.
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

// verb names the call of the kind in errors.
func (r *reader) verb() string {
	if r.kind == scenario.ReadGet {
		return "read"
	}
	return r.kind
}
