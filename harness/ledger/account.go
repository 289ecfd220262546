package ledger

import (
	"fmt"
	"slices"
	"sort"
	"sync"
)

// pageTasks is the number of tasks in a page. They are consecutive tasks of one producer.
const pageTasks = 256

// The state of a task consists of one bit for each of these facts.
const (
	acknowledged uint8 = 1 << iota // its enqueue was acknowledged
	refused                        // its enqueue was refused
	unknown                        // its enqueue will never be answered
	// A completion, the failure of the last attempt, or a cancellation was acknowledged.
	completed
	completionRefused // at least one completion was refused
	completionInDoubt // the outcome of at least one completion will never be known
	delivered         // it was claimed; set only if the order is watched
	completionAsked   // a completion was requested; set only if completions are watched
	answered          = acknowledged | refused | unknown
)

// settled reports whether a task has reached its final state. Any later event is a fault, so the
// ledger may forget the task.
func settled(task uint8) bool {
	return task&refused != 0 || task&completed != 0 && task&answered != 0
}

// doubtful reports whether a task may have been completed without acknowledgement, or may never
// have been enqueued.
func doubtful(task uint8) bool {
	return task&(refused|completed) == 0 && task&(unknown|completionInDoubt) != 0
}

// over reports whether the load need not wait for a task any longer. This is the case if the task
// was refused, completed or dead, or if its enqueue or completion will never be answered.
func over(task uint8) bool {
	return task&(refused|completed|unknown|completionInDoubt) != 0
}

// page contains the states of pageTasks consecutive tasks.
type page struct {
	index   uint64 // sequence number of its first task, divided by pageTasks
	settled int    // number of settled tasks
	tasks   [pageTasks]uint8
}

// account contains the tasks of one producer. Pages are created in order as tasks are sent, and are
// released when all of their tasks are settled. Therefore, if a sequence number below sent has no
// page, its task is settled.
type account struct {
	mu   sync.Mutex
	sent uint64 // sequence number of the next task
	// Counts of the tasks that were sent:
	acknowledged       uint64
	refused            uint64
	completed          uint64 // tasks completed at least once and not refused
	completionsRefused uint64
	failed             uint64 // failed attempts; counted only if attempts are watched
	retried            uint64 // attempts that followed a failed attempt
	dead               uint64 // tasks whose last attempt was failed
	cancelled          uint64
	doubtful           uint64
	inDoubt            uint64 // doubtful tasks whose enqueue was acknowledged

	live  []*page // ascending by index
	spare []*page // released pages for reuse, at most maxSpare
	made  int     // pages allocated so far

	order  map[uint64]uint64 // see claim; nil if the order is not watched
	leases map[uint64]Lease  // by task, see lease; nil if leases are not watched
	// attempts contains the last attempt of each failed task, by sequence number. It is nil if
	// attempts are not watched.
	attempts map[uint64]attempt
	// cancelledEarly contains the cancelled tasks whose enqueue is not answered yet.
	cancelledEarly map[uint64]bool
	keys           map[uint64]uniqueKey // by task, see holdKey; nil if unique keys are not watched
	beyond         *beyond              // shared by all accounts of a restored ledger; nil otherwise
}

func (a *account) update(p *page, i uint64, flag uint8) {
	was := p.tasks[i]
	now := was | flag
	p.tasks[i] = now
	if !settled(was) && settled(now) {
		p.settled++
	}
	a.doubtful += count(doubtful(now)) - count(doubtful(was))
	a.inDoubt += count(inDoubt(now)) - count(inDoubt(was))
}

// inDoubt reports whether a task is doubtful only because of a completion. Its enqueue was
// acknowledged.
func inDoubt(task uint8) bool { return doubtful(task) && task&acknowledged != 0 }

func count(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// maxSpare bounds the number of released pages that an account retains for reuse.
const maxSpare = 4

// find returns the index in live of the page that contains a task. It returns -1 if the page was
// released.
func (a *account) find(sequence uint64) int {
	n := len(a.live)
	if n == 0 {
		return -1
	}
	index := sequence / pageTasks
	// Common case: no page between this one and the newest one was released, so the index can be
	// computed.
	if back := a.live[n-1].index - index; back < uint64(n) && a.live[n-1-int(back)].index == index {
		return n - 1 - int(back)
	}
	at := sort.Search(n, func(i int) bool { return a.live[i].index >= index })
	if at < n && a.live[at].index == index {
		return at
	}
	return -1
}

// send creates the pages of the next n tasks and returns the sequence number of the first task.
func (a *account) send(n uint64) uint64 {
	first := a.sent
	for index := (first + pageTasks - 1) / pageTasks; index*pageTasks < first+n; index++ {
		var p *page
		if last := len(a.spare) - 1; last >= 0 {
			p, a.spare[last] = a.spare[last], nil
			a.spare = a.spare[:last]
			*p = page{}
		} else {
			p = new(page)
			a.made++
		}
		p.index = index
		a.live = append(a.live, p)
	}
	a.sent += n
	return first
}

func (a *account) release(at int) {
	p := a.live[at]
	if p.settled < pageTasks {
		return
	}
	a.live = slices.Delete(a.live, at, at+1)
	if len(a.spare) < maxSpare {
		a.spare = append(a.spare, p)
	}
}

// answer records how the enqueue of n tasks was answered. contradicted is the number of tasks that
// were refused after they had been completed. ended is the number of tasks that ended with this
// answer (see over). Only the first answer for a task counts.
func (a *account) answer(first, n uint64, flag uint8) (contradicted uint64, ended int) {
	if first+n > a.sent {
		panic(fmt.Sprintf("ledger: answer for tasks %d to %d, but only %d were sent", first, first+n-1, a.sent))
	}
	for next := first; next < first+n; {
		end := min((next/pageTasks+1)*pageTasks, first+n)
		at := a.find(next)
		if at < 0 { // all tasks of this page are settled, and therefore answered
			next = end
			continue
		}
		p := a.live[at]
		for ; next < end; next++ {
			task := p.tasks[next%pageTasks]
			if task&answered != 0 {
				continue
			}
			a.update(p, next%pageTasks, flag)
			if !over(task) && over(flag) {
				ended++
			}
			switch flag {
			case acknowledged:
				a.acknowledged++
			case refused:
				a.refused++
				if task&completed != 0 {
					a.revive(next)
					contradicted++
				}
			}
			delete(a.cancelledEarly, next)
			if a.attempts != nil && a.attempts[next].dead {
				delete(a.attempts, next)
			}
		}
		a.release(at)
	}
	return contradicted, ended
}

// finding classifies the acknowledgement of a completion.
type finding uint8

const (
	expected finding = iota // the task's first completion
	// the task was completed before, or it was refused and its page is released
	repeated
	neverSent     // the task was never sent
	refusedBefore // the task's enqueue was refused
)

// complete records that a completion of a task was acknowledged. ended is true if the task ended
// with this completion.
func (a *account) complete(sequence uint64) (found finding, ended bool) {
	if sequence >= a.sent && !a.reach(sequence) {
		return neverSent, false
	}
	at := a.find(sequence)
	if at < 0 {
		return repeated, false
	}
	p := a.live[at]
	task := p.tasks[sequence%pageTasks]
	if task&completed != 0 {
		return repeated, false
	}
	a.update(p, sequence%pageTasks, completed)
	if task&refused != 0 {
		return refusedBefore, false
	}
	a.completed++
	if a.leases != nil {
		delete(a.leases, sequence)
	}
	if a.attempts != nil {
		delete(a.attempts, sequence)
	}
	a.release(at)
	return expected, !over(task)
}

// mark sets a flag of a task that is not settled. The flag must be one that settles no task. mark
// reports whether the task ended because of the flag.
func (a *account) mark(sequence uint64, flag uint8) (ended bool) {
	if sequence >= a.sent && !a.reach(sequence) {
		return false
	}
	at := a.find(sequence)
	if at < 0 {
		return false
	}
	p := a.live[at]
	ended = !over(p.tasks[sequence%pageTasks]) && over(flag)
	a.update(p, sequence%pageTasks, flag)
	return ended
}

// lost calls visit for each task that was acknowledged and never completed, in the order of the
// tasks. A task with a completion in doubt may have been completed, so it is not lost. This is true
// even if the task was claimed again, because some servers accept the completion of an earlier
// claim later.
func (a *account) lost(visit func(sequence uint64, task uint8)) {
	for _, p := range a.live {
		for i, task := range p.tasks {
			if task&(acknowledged|completed|completionInDoubt) == acknowledged {
				visit(p.index*pageTasks+uint64(i), task)
			}
		}
	}
}
