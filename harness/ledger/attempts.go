package ledger

import (
	"fmt"

	"github.com/pronybench/prony/harness/result"
)

// WatchAttempts makes the ledger account for the attempts of tasks that workers fail, each of which has at most so many attempts. A task that
// was failed must come again with the next attempt, or else is lost; a delivery with any other attempt counts as miscounted. A task whose last
// attempt was failed is dead. That is what the target does only as long as no lease ends otherwise: leases that expire or are released use
// up attempts as well, or give them back.
//
// WatchAttempts must be called before the first task is sent. The ledger keeps an attempt for each task that was failed and is neither
// completed nor dead.
func (l *Ledger) WatchAttempts(most uint32) {
	l.attemptsMax = most
	for i := range l.accounts {
		l.accounts[i].attempts = map[uint64]attempt{}
	}
}

// attempt is the last attempt of a task that was failed.
type attempt struct {
	number uint32
	back   bool // the task was claimed again
	dead   bool // the task is dead, and its enqueue is not answered yet
}

// Attempted says that a task was claimed with an attempt, from 1. It is called after Claimed, where the attempts are watched.
func (l *Ledger) Attempted(id Identity, number uint32) {
	if !l.knows(id) {
		return
	}
	a := &l.accounts[id.Producer]
	a.mu.Lock()
	want, ok := a.attempted(id.Sequence, number)
	a.mu.Unlock()
	if !ok {
		l.faults.add(&l.faults.miscounted, 1, fmt.Sprintf("miscounted: %s was claimed with attempt %d instead of %d", id, number, want))
	}
}

// attempted enters an attempt, and returns which one was to come. A task that is settled has no attempt to come: the next settlement is
// found to be one too many.
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

// outstanding reports whether a task was sent and is neither completed, nor dead, nor refused.
func (a *account) outstanding(sequence uint64) bool {
	at := a.find(sequence)
	return sequence < a.sent && at >= 0 && a.live[at].tasks[sequence%pageTasks]&(completed|refused) == 0
}

// Failing says that an attempt of a task is about to be failed, where the attempts are watched. The task may come again before it is known
// here that the failure was acknowledged.
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

// Failed says that the failure of an attempt was acknowledged. It returns whether the task is dead, because that was its last attempt, and
// whether it ended now: see Completed. Failing was called before. A task that dies after its completion was acknowledged counts as duplicated.
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

// die notes that an outstanding task is dead, and returns whether it ended now. The flag completed stands for both completed and dead tasks.
func (a *account) die(sequence uint64) (ended bool) {
	at := a.find(sequence)
	p := a.live[at]
	ended = !over(p.tasks[sequence%pageTasks])
	a.update(p, sequence%pageTasks, completed)
	a.dead++
	if p.tasks[sequence%pageTasks]&answered == 0 {
		a.attempts[sequence] = attempt{dead: true}
	} else {
		delete(a.attempts, sequence)
	}
	a.release(at)
	return ended
}

// revive takes a task whose enqueue was refused out of the completed ones, or of the dead ones.
func (a *account) revive(sequence uint64) {
	if a.attempts[sequence].dead {
		a.dead--
		return
	}
	a.completed--
}

// readAttempts fills in the counts of attempts.
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
