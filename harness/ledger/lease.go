package ledger

import (
	"fmt"
	"time"
)

// Lease is a worker's right to a task, as the target granted it.
type Lease struct {
	Token uint64    // fencing token: two leases of a task have two tokens
	Until time.Time // when the lease expires, by the target's wall clock; zero: unknown, and nothing is judged by it
}

// LeaseMargin is how long before its expiry a lease counts as over: by so much the clocks of the servers and of the client may differ.
// It is the difference that servers tolerate among themselves by default.
const LeaseMargin = 500 * time.Millisecond

// valid reports whether the lease is surely valid at a time of the client's wall clock.
func (e Lease) valid(now time.Time) bool {
	return !e.Until.IsZero() && now.Add(LeaseMargin).Before(e.Until)
}

// WatchLeases makes the ledger count breaches of exclusivity: each claim of a task while another lease of the task is valid, and each
// completion that is refused although its lease is valid. A lease is valid from when a worker has the task until LeaseMargin before it
// expires or, if that comes earlier, until a completion of the task was acknowledged, or refused under this lease. A completion of
// unknown outcome ends no lease: a task that it completed is not handed out again.
//
// WatchLeases must be called before the first task is claimed. The ledger keeps a lease for each task that was claimed and not
// completed.
func (l *Ledger) WatchLeases() {
	for i := range l.accounts {
		l.accounts[i].leases = map[uint64]Lease{}
	}
}

// WatchesLeases reports whether WatchLeases was called.
func (l *Ledger) WatchesLeases() bool { return l.accounts[0].leases != nil }

// Leased says that a worker has claimed a task under a lease. It is called after Claimed, where the leases are watched.
func (l *Ledger) Leased(id Identity, lease Lease, now time.Time) {
	if !l.knows(id) {
		return
	}
	a := &l.accounts[id.Producer]
	a.mu.Lock()
	held, contested := a.lease(id.Sequence, lease, now)
	a.mu.Unlock()
	if contested {
		l.faults.add(&l.faults.contested, 1, fmt.Sprintf("contested: %s was claimed under token %d while the lease with token %d was valid for %v more",
			id, lease.Token, held.Token, held.Until.Sub(now).Round(time.Millisecond)))
	}
}

// LeaseRefused says that a completion was refused because its lease was over or its task gone, and that this was known at a time. It is
// called after CompletionRefused, where the leases are watched.
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
		l.faults.add(&l.faults.revoked, 1, fmt.Sprintf("revoked: %s: a completion was refused although its lease with token %d was valid for %v more",
			id, lease.Token, lease.Until.Sub(now).Round(time.Millisecond)))
	}
}

// lease enters a lease of a task, and returns the lease before it and whether both are valid. Of two leases the account keeps the one
// that expires later. A task that is completed has no lease; ledger.Completed tells a second completion.
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
