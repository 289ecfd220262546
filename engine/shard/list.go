package shard

import (
	"fmt"
	"math"
	"slices"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// List is the request for one page of a queue's tasks. Ready tasks are listed in claim order.
type List struct {
	Tenant string
	Queue  string
	State  TaskState // Ready, Delayed, Leased, Dead or Waiting
	After  storage.Place
	Limit  int
	// BytesMax approximately limits the bytes of payloads and error texts in a page. The limit does
	// not apply to the first task. 0 means no limit.
	BytesMax int
	// Match selects tasks; nil selects all. The Found of a task that is not dead has no LastError and
	// no Lease.
	Match func(*Found) bool
}

// Listed is a page of a list. Next is empty for the last page. Other pages too may contain fewer
// tasks than List.Limit, or none.
type Listed struct {
	Tasks []Found
	Next  storage.Place
}

// listLookMax limits the number of records that are read for one page.
const listLookMax = 10_000

// List lists tasks. A separate goroutine reads the page and then calls reply, since reading may
// take long.
func (s *Shard) List(l List, reply func(Listed, error)) error {
	return put(s, &query[listing]{
		decided: func(d *decider, nowMs int64) (listing, error) { return newListing(d.state, l, nowMs) },
		reply: func(b listing, err error) {
			if err != nil {
				reply(Listed{}, err)
				return
			}
			s.reading.Go(func() {
				page, err := b.read(s.store)
				switch {
				case err != nil:
				case b.list.State == Leased:
					s.currentLeases(page, reply)
					return
				case b.list.State == Ready && b.holes:
					s.withoutLeased(page, reply)
					return
				}
				reply(page, err)
			})
		},
	})
}

// listing is a List request with a copy of the queue's state at the time when the turn decided it.
type listing struct {
	list    List
	queueID uint32
	nowMs   int64
	cursors [queue.MaxPriority + 1]uint64
	holes   bool // leased tasks may not be below the cursors
}

func newListing(state *queue.State, l List, nowMs int64) (listing, error) {
	q, ok := state.Named(l.Tenant, l.Queue)
	if !ok {
		return listing{}, ErrNoQueue
	}
	b := listing{list: l, queueID: q.ID(), nowMs: nowMs}
	b.holes = q.Holes()
	for p := range b.cursors {
		b.cursors[p] = q.Cursor(uint8(p))
	}
	return b, nil
}

// currentLeases replies with a page of leased tasks. It replaces their leases with those of the
// state machine, since a recovered lease may last longer than its record states. A task that was
// settled after the page was read stays in the page unchanged.
func (s *Shard) currentLeases(page Listed, reply func(Listed, error)) {
	err := put(s, &query[Listed]{
		decided: func(d *decider, _ int64) (Listed, error) {
			for i := range page.Tasks {
				if lease, is := d.state.FindLease(page.Tasks[i].Ref); is {
					page.Tasks[i].Lease = lease
				}
			}
			return page, nil
		},
		reply: reply,
	})
	if err != nil {
		reply(Listed{}, err)
	}
}

// withoutLeased replies with a page of ready tasks. It removes those that are leased.
func (s *Shard) withoutLeased(page Listed, reply func(Listed, error)) {
	err := put(s, &query[Listed]{
		decided: func(d *decider, _ int64) (Listed, error) {
			page.Tasks = slices.DeleteFunc(page.Tasks, func(f Found) bool { return d.state.Leased(&f.Stored) })
			return page, nil
		},
		reply: reply,
	})
	if err != nil {
		reply(Listed{}, err)
	}
}

func (b *listing) readLeased(store *storage.Store, page storage.Page) (Listed, error) {
	tasks, next, err := store.ListLeased(b.queueID, page)
	out := Listed{Next: next}
	for _, t := range tasks {
		f := Found{Stored: t.Stored, Queue: b.list.Queue, State: Leased, Lease: t.Lease}
		if err == nil {
			f.LastError, err = lastError(store, f.Ref, f.Lease.Attempt-1)
		}
		out.Tasks = append(out.Tasks, f)
	}
	return out, err
}

func lastError(store *storage.Store, ref queue.Ref, attempts uint32) (string, error) {
	if attempts == 0 {
		return "", nil
	}
	text, err := store.LastError(storage.StepOther, ref, attempts)
	if err != nil {
		return "", fmt.Errorf("list tasks: %w", err)
	}
	return text, nil
}

func (b *listing) read(store *storage.Store) (Listed, error) {
	l := &b.list
	page := storage.Page{After: l.After, Limit: l.Limit, LookMax: listLookMax, BytesMax: l.BytesMax}
	if l.Match != nil {
		page.Match = func(t *storage.Listed) bool {
			f := found(l, t)
			return l.Match(&f)
		}
	}
	var tasks []storage.Listed
	var next storage.Place
	var err error
	switch l.State {
	case Leased:
		return b.readLeased(store, page)
	case Ready:
		tasks, next, err = store.ListReady(b.queueID, b.cursors, b.nowMs, page)
	case Delayed:
		tasks, next, err = store.ListReturned(b.queueID, b.nowMs+1, queue.NeverMs, page)
	case Waiting:
		tasks, next, err = store.ListReturned(b.queueID, queue.NeverMs, math.MaxInt64, page)
	case Dead:
		tasks, next, err = store.ListDead(b.queueID, page)
	case Done:
		err = fmt.Errorf("tasks of state %d can't be listed from the store", l.State)
	}
	out := Listed{Next: next}
	for i := range tasks {
		f := found(l, &tasks[i])
		if l.State != Dead && err == nil {
			f.LastError, err = lastError(store, f.Ref, f.Progress.Attempts)
		}
		out.Tasks = append(out.Tasks, f)
	}
	return out, err
}

func found(l *List, t *storage.Listed) Found {
	f := Found{Stored: t.Stored, Queue: l.Queue, State: l.State, DeadRecord: t.DeadRecord, WaitingFor: t.Waiting.Unfinished(), Attempts: t.Attempts}
	if n := len(t.Attempts); n > 0 {
		f.LastError = t.Attempts[n-1].Error
	}
	return f
}
