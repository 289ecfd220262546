package ledger

import (
	"fmt"
	"slices"
	"sort"
	"sync"
)

// pageTasks is the number of consecutive tasks of one producer that a page holds.
const pageTasks = 256

// What is known of a task, one bit each.
const (
	acknowledged      uint8 = 1 << iota // its enqueue was acknowledged
	refused                             // its enqueue was refused
	unknown                             // its enqueue will never be answered
	completed                           // a completion was acknowledged, or the failure of the last attempt
	completionRefused                   // a completion was refused, at least once
	completionInDoubt                   // a completion will never be answered, at least once
	delivered                           // it was claimed, where the order is watched
	completionAsked                     // a completion was asked for, where that is noted
	answered          = acknowledged | refused | unknown
)

// settled reports whether a task has reached its end, so that whatever happens to it later is a fault and it need not be remembered.
func settled(task uint8) bool {
	return task&refused != 0 || task&completed != 0 && task&answered != 0
}

// doubtful reports whether a task that is not known to be completed may have been, or may never have been enqueued.
func doubtful(task uint8) bool {
	return task&(refused|completed) == 0 && task&(unknown|completionInDoubt) != 0
}

// over reports whether a task has ended: it was refused, completed or dead, or the answer to its enqueue or its completion will never come, so
// that the load does not wait for it.
func over(task uint8) bool {
	return task&(refused|completed|unknown|completionInDoubt) != 0
}

// page is what is known of pageTasks consecutive tasks.
type page struct {
	index   uint64 // of its first task, divided by pageTasks
	settled int    // how many of its tasks are settled
	tasks   [pageTasks]uint8
}

// account is what is known of one producer's tasks. Pages are made in order as tasks are sent, and
// released when all of their tasks are settled; so a task below sent that has no page is settled.
type account struct {
	mu   sync.Mutex
	sent uint64 // sequence number of the next task
	// Of the tasks sent:
	acknowledged       uint64
	refused            uint64
	completed          uint64 // at least once, and not refused
	completionsRefused uint64
	failed             uint64 // attempts, where they are watched
	retried            uint64 // attempts that came again after a failed one
	dead               uint64 // tasks whose last attempt was failed
	doubtful           uint64
	inDoubt            uint64 // acknowledged, of the doubtful

	live  []*page // by index, ascending
	spare []*page // released, at most maxSpare, to be used again
	made  int     // pages allocated so far

	order  map[uint64]uint64 // see claim; nil where the order is not watched
	leases map[uint64]Lease  // by task, see lease; nil where the leases are not watched
	// attempts are those of tasks that were failed, by task; nil where they are not watched.
	attempts map[uint64]attempt
	beyond   *beyond // of a restored ledger, shared by its accounts; else nil
}

// update adds a flag to what is known of a task.
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

// inDoubt reports whether all that is not known of a task is whether it was completed.
func inDoubt(task uint8) bool { return doubtful(task) && task&acknowledged != 0 }

func count(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// maxSpare bounds the pages that an account keeps for reuse.
const maxSpare = 4

// find returns the place in live of the page that holds a task, or -1 when it was released.
func (a *account) find(sequence uint64) int {
	n := len(a.live)
	if n == 0 {
		return -1
	}
	index := sequence / pageTasks
	// The place if no page between this one and the newest was released, which is the rule.
	if back := a.live[n-1].index - index; back < uint64(n) && a.live[n-1-int(back)].index == index {
		return n - 1 - int(back)
	}
	at := sort.Search(n, func(i int) bool { return a.live[i].index >= index })
	if at < n && a.live[at].index == index {
		return at
	}
	return -1
}

// send opens the pages for the next n tasks and returns the first one's number.
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

// release gives a page up when all of its tasks are settled.
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

// answer notes how the enqueue of n tasks was answered. It returns how many of them were refused though they had been
// completed, and how many of them ended now (see over). The first answer of a task stands.
func (a *account) answer(first, n uint64, flag uint8) (contradicted uint64, ended int) {
	if first+n > a.sent {
		panic(fmt.Sprintf("ledger: answer for tasks %d to %d, but only %d were sent", first, first+n-1, a.sent))
	}
	for next := first; next < first+n; {
		end := min((next/pageTasks+1)*pageTasks, first+n)
		at := a.find(next)
		if at < 0 { // settled, and so answered, all of them
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
			if a.attempts != nil && a.attempts[next].dead {
				delete(a.attempts, next)
			}
		}
		a.release(at)
	}
	return contradicted, ended
}

// finding is what a completion's acknowledgement amounts to.
type finding uint8

const (
	expected      finding = iota // the task's first
	repeated                     // the task was completed, or was refused long ago
	neverSent                    // there is no such task
	refusedBefore                // the task's enqueue had been refused
)

// complete notes that a completion of a task was acknowledged, and returns whether the task ended now.
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

// mark adds a flag that settles nothing to a task, if it is not settled, and returns whether the task ended now.
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

// lost calls visit for each task that was acknowledged and never completed, in order. A task with a
// completion in doubt may have been completed and is not lost, not even if it was claimed again: some servers accept the
// completion of an earlier claim later.
func (a *account) lost(visit func(sequence uint64, task uint8)) {
	for _, p := range a.live {
		for i, task := range p.tasks {
			if task&(acknowledged|completed|completionInDoubt) == acknowledged {
				visit(p.index*pageTasks+uint64(i), task)
			}
		}
	}
}
