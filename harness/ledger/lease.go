package ledger

import (
	"fmt"
	"time"
)

// Lease is the right of a worker to complete a task. The target grants it.
type Lease struct {
	Token uint64 // fencing token: unique for each lease of a task
	// expiry by the target's wall clock; the zero time means unknown: the lease is not checked
	Until time.Time
}

// LeaseMargin is subtracted from the expiry of a lease: from then on the ledger treats the lease as
// expired. The margin allows for the difference between the clocks of the servers and the client.
// It equals the clock difference that servers tolerate among themselves by default.
const LeaseMargin = 500 * time.Millisecond

// valid reports whether the lease is certainly valid at the given time of the client's wall clock.
func (e Lease) valid(now time.Time) bool {
	return !e.Until.IsZero() && now.Add(LeaseMargin).Before(e.Until)
}

// WatchLeases makes the ledger count breaches of exclusivity. There are two kinds: a task is
// claimed while another lease of the task is valid, or a completion is refused although its lease
// is valid. A lease is valid from the claim until LeaseMargin before its expiry. It ends earlier if
// a completion of the task is acknowledged, or if a completion under this lease is refused. A
// completion of unknown outcome ends no lease: if it took effect, the task is not delivered again.
//
// WatchLeases must be called before the first task is claimed. The ledger stores a lease for each
// task that was claimed and is not completed.
func (l *Ledger) WatchLeases() {
	for i := range l.accounts {
		l.accounts[i].leases = map[uint64]Lease{}
	}
}

// WatchesLeases reports whether WatchLeases was called.
func (l *Ledger) WatchesLeases() bool { return l.accounts[0].leases != nil }

// Leased records that a worker has claimed a task under a lease. It must be called after Claimed,
// and only if leases are watched.
func (l *Ledger) Leased(id Identity, lease Lease, now time.Time) {
	if !l.knows(id) {
		return
	}
	a := &l.accounts[id.Producer]
	a.mu.Lock()
	held, contested := a.lease(id.Sequence, lease, now)
	a.mu.Unlock()
	if contested {
		l.faults.add(&l.faults.contested, 1, fmt.Sprintf("contested: %s was claimed under token %d while the lease with token %d was valid for another %v",
			id, lease.Token, held.Token, held.Until.Sub(now).Round(time.Millisecond)))
	}
}

// LeaseRefused records that a completion was refused because its lease had expired or its task no
// longer exists. now is the time when the caller learned of the refusal. LeaseRefused must be
// called after CompletionRefused, and only if leases are watched.
func (l *Ledger) LeaseRefused(id Identity, lease Lease, now time.Time) {
	if !l.knows(id) {
		return
	}
	a := &l.accounts[id.Producer]
	a.mu.Lock()
	if a.leases[id.Sequence].Token == lease.Token {
		delete(a.leases, id.Sequence)
	}
	a.mu.Unlock()
	if lease.valid(now) {
		l.faults.add(&l.faults.revoked, 1, fmt.Sprintf("revoked: %s: a completion was refused although its lease with token %d was valid for another %v",
			id, lease.Token, lease.Until.Sub(now).Round(time.Millisecond)))
	}
}

// lease records a lease of a task. It returns the previous lease, and whether the previous lease
// and the new one are valid at the same time. Of the two, the account stores the lease that expires
// later. A completed task has no lease, because Completed reports a second completion.
func (a *account) lease(sequence uint64, lease Lease, now time.Time) (held Lease, contested bool) {
	at := a.find(sequence)
	if sequence >= a.sent || at < 0 || a.live[at].tasks[sequence%pageTasks]&completed != 0 {
		return Lease{}, false
	}
	held, was := a.leases[sequence]
	if !was || held.Until.Before(lease.Until) {
		a.leases[sequence] = lease
	}
	return held, was && held.Token != lease.Token && held.valid(now) && lease.valid(now)
}
