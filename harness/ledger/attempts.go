package ledger

import (
	"fmt"

	"github.com/pronybench/prony/harness/result"
)

// WatchAttempts makes the ledger check the attempts of tasks that workers fail. most is the maximum
// number of attempts of each task. A failed task must be delivered again with the next attempt
// number; otherwise it is lost. A delivery with any other number counts as miscounted. A task whose
// last attempt failed is dead.
//
// The check is valid only if leases end by completion or failure. A lease that expires also uses an
// attempt, and a lease that is released returns its attempt.
//
// WatchAttempts must be called before the first task is sent. The ledger stores one attempt for
// each failed task that is neither completed nor dead.
func (l *Ledger) WatchAttempts(most uint32) {
	l.attemptsMax = most
	for i := range l.accounts {
		l.accounts[i].attempts = map[uint64]attempt{}
	}
}

// attempt is the last failed attempt of a task.
type attempt struct {
	number uint32
	back   bool // whether the task was claimed again
	dead   bool // whether the task is dead while its enqueue is not answered yet
}

// Attempted records the attempt number of a claimed task. The first attempt has number 1. Attempted
// must be called after Claimed, and only if attempts are watched.
func (l *Ledger) Attempted(id Identity, number uint32) {
	if !l.knows(id) {
		return
	}
	a := &l.accounts[id.Producer]
	a.mu.Lock()
	want, ok := a.attempted(id.Sequence, number)
	a.mu.Unlock()
	if !ok {
		l.faults.add(&l.faults.miscounted, 1, fmt.Sprintf("miscounted: %s was claimed with attempt %d, expected %d", id, number, want))
	}
}

// attempted checks an attempt number. It returns the expected number, and whether number equals it.
// It accepts any number for a settled task, because the next settlement of that task is reported as
// a duplicate.
func (a *account) attempted(sequence uint64, number uint32) (want uint32, ok bool) {
	if !a.outstanding(sequence) {
		return 0, true
	}
	failed, again := a.attempts[sequence]
	want = failed.number + 1
	if again && !failed.back && number == want {
		a.retried++
		failed.back = true
		a.attempts[sequence] = failed
	}
	return want, number == want
}

func (a *account) outstanding(sequence uint64) bool {
	at := a.find(sequence)
	return sequence < a.sent && at >= 0 && a.live[at].tasks[sequence%pageTasks]&(completed|refused) == 0
}

// Failing records that a failure of an attempt is about to be sent. It must be called only if
// attempts are watched. It must be called before the failure is sent, because the target may
// deliver the task again before the caller receives the acknowledgement.
func (l *Ledger) Failing(id Identity, number uint32) {
	if !l.knows(id) {
		return
	}
	a := &l.accounts[id.Producer]
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.outstanding(id.Sequence) {
		a.attempts[id.Sequence] = attempt{number: number}
		delete(a.leases, id.Sequence)
	}
}

// Failed records that the failure of an attempt was acknowledged. dead is true if this was the last
// attempt. ended is true if the task ended with this call: see Completed. Failing must have been
// called before. A task that dies after its completion was acknowledged counts as duplicated.
func (l *Ledger) Failed(id Identity, number uint32) (dead, ended bool) {
	if !l.knows(id) {
		return false, false
	}
	a := &l.accounts[id.Producer]
	a.mu.Lock()
	a.failed++
	dead = number >= l.attemptsMax
	twice := false
	if dead {
		twice = !a.outstanding(id.Sequence)
		ended = !twice && a.die(id.Sequence)
	}
	a.mu.Unlock()
	if twice {
		l.faults.add(&l.faults.duplicated, 1, fmt.Sprintf("duplicated: %s: the failure of its last attempt was acknowledged after the task was completed or dead", id))
	}
	return dead, ended
}

// die records that an outstanding task is dead, and reports whether the task ended with this call.
func (a *account) die(sequence uint64) (ended bool) {
	known, ended := a.settle(sequence)
	a.dead++
	if known {
		delete(a.attempts, sequence)
	} else {
		a.attempts[sequence] = attempt{dead: true}
	}
	return ended
}

// settle records that an outstanding task is dead or cancelled. The flag completed is set for such
// tasks too. answeredBefore is true if the enqueue was answered, and ended if the task ended with
// this call: see over.
func (a *account) settle(sequence uint64) (answeredBefore, ended bool) {
	at := a.find(sequence)
	p := a.live[at]
	task := p.tasks[sequence%pageTasks]
	a.update(p, sequence%pageTasks, completed)
	a.release(at)
	return task&answered != 0, !over(task)
}

// revive reduces the count of completed, dead or cancelled tasks by one, because the enqueue of such a task
// was refused.
func (a *account) revive(sequence uint64) {
	if a.attempts[sequence].dead {
		a.dead--
		return
	}
	if a.cancelledEarly[sequence] {
		a.cancelled--
		return
	}
	a.completed--
}

func (l *Ledger) readAttempts(into *result.Ledger) {
	for i := range l.used.Load() {
		a := &l.accounts[i]
		a.mu.Lock()
		into.Failed += a.failed
		into.Retried += a.retried
		into.Dead += a.dead
		a.mu.Unlock()
	}
}
