package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

var leaseEpoch = time.UnixMilli(1_700_000_000_000)

// leased returns a ledger that watches leases and has sent n tasks.
func leased(n int) *Ledger {
	l := newLedger(1)
	l.WatchLeases()
	l.Enqueued(0, l.Sent(0, n), n)
	return l
}

// until returns a lease that expires at a time after the epoch.
func until(token uint64, after time.Duration) Lease {
	return Lease{Token: token, Until: leaseEpoch.Add(after)}
}

func at(after time.Duration) time.Time { return leaseEpoch.Add(after) }

// breaches returns the number of contested claims and of revoked completions.
func breaches(l *Ledger) [2]uint64 {
	balance := l.Balance()
	return [2]uint64{balance.Contested, balance.Revoked}
}

func TestATaskWithTwoValidLeasesIsContested(t *testing.T) {
	l := leased(2)
	l.Leased(task(0, 0), until(7, 5*time.Second), at(0))
	l.Leased(task(0, 1), until(7, 5*time.Second), at(0)) // another task
	l.Leased(task(0, 0), until(7, 5*time.Second), at(time.Second))
	require.Equal(t, [2]uint64{}, breaches(l), "the same lease twice")
	l.Leased(task(0, 0), until(8, 7*time.Second), at(2*time.Second))
	require.Equal(t, [2]uint64{1, 0}, breaches(l))
	assert.Equal(t, []string{
		"lost: producer 0 task 0: enqueue acknowledged, never completed",
		"lost: producer 0 task 1: enqueue acknowledged, never completed",
		"contested: producer 0 task 0 was claimed under token 8 while the lease with token 7 was valid for another 3s",
	}, l.Balance().Samples)
}

func TestLeasesThatFollowEachOtherAreNotContested(t *testing.T) {
	for name, happens := range map[string]func(*Ledger){
		"the first expired": func(l *Ledger) { l.Leased(task(0, 0), until(8, 10*time.Second), at(5*time.Second)) },
		"the first is about to expire, and the clocks differ": func(l *Ledger) {
			l.Leased(task(0, 0), until(8, 10*time.Second), at(5*time.Second-LeaseMargin))
		},
		"the second expired in transit": func(l *Ledger) {
			l.Leased(task(0, 0), until(6, time.Second), at(2*time.Second))
		},
		"the first was refused": func(l *Ledger) {
			l.CompletionRefused(task(0, 0))
			l.LeaseRefused(task(0, 0), until(7, 5*time.Second), at(5*time.Second))
			l.Leased(task(0, 0), until(8, 10*time.Second), at(time.Second))
		},
		"the first was completed": func(l *Ledger) {
			l.Completed(task(0, 0))
			l.Leased(task(0, 0), until(8, 10*time.Second), at(time.Second))
		},
		"the second has no expiry":   func(l *Ledger) { l.Leased(task(0, 0), Lease{Token: 8}, at(time.Second)) },
		"tasks of others":            func(l *Ledger) { l.Leased(Identity{Round: 1}, until(8, 10*time.Second), at(0)) },
		"tasks that were never sent": func(l *Ledger) { l.Leased(task(0, 9), until(8, 10*time.Second), at(0)) },
	} {
		t.Run(name, func(t *testing.T) {
			l := leased(1)
			l.Leased(task(0, 0), until(7, 5*time.Second), at(0))
			happens(l)
			assert.Equal(t, [2]uint64{}, breaches(l))
		})
	}
}

// It is unknown whether the first completion took effect. If it did, the task is done; if not, its
// lease is valid.
func TestACompletionOfUnknownOutcomeEndsNoLease(t *testing.T) {
	l := leased(1)
	l.Leased(task(0, 0), until(7, 5*time.Second), at(0))
	l.CompletionUnknown(task(0, 0))
	l.Leased(task(0, 0), until(8, 6*time.Second), at(time.Second))
	assert.Equal(t, [2]uint64{1, 0}, breaches(l))
}

// A lease that was delayed in transit does not replace the valid one.
func TestALateLeaseDoesNotEndAValidOne(t *testing.T) {
	l := leased(1)
	l.Leased(task(0, 0), until(8, 10*time.Second), at(5*time.Second))
	l.Leased(task(0, 0), until(7, 5*time.Second), at(6*time.Second))
	require.Equal(t, [2]uint64{}, breaches(l))
	l.LeaseRefused(task(0, 0), until(7, 5*time.Second), at(6*time.Second))
	l.Leased(task(0, 0), until(9, 12*time.Second), at(7*time.Second))
	assert.Equal(t, [2]uint64{1, 0}, breaches(l))
}

func TestARefusalUnderAValidLease(t *testing.T) {
	l := leased(1)
	lease := until(7, 5*time.Second)
	l.Leased(task(0, 0), lease, at(0))
	l.LeaseRefused(task(0, 0), lease, at(5*time.Second-LeaseMargin))
	l.LeaseRefused(task(0, 0), Lease{Token: 7}, at(0))
	l.LeaseRefused(Identity{Round: 1}, lease, at(0))
	require.Equal(t, [2]uint64{}, breaches(l))
	l.LeaseRefused(task(0, 0), lease, at(4*time.Second))
	assert.Equal(t, [2]uint64{0, 1}, breaches(l))
	assert.Contains(t, l.Balance().Samples, "revoked: producer 0 task 0: a completion was refused although its lease with token 7 was valid for another 1s")
}

func TestLeasesOfCompletedTasksAreForgotten(t *testing.T) {
	l := leased(1000)
	for sequence := range uint64(1000) {
		l.Leased(task(0, sequence), until(sequence, 5*time.Second), at(0))
		l.Completed(task(0, sequence))
	}
	assert.Empty(t, l.accounts[0].leases)
	assert.Equal(t, result.Ledger{Enqueued: 1000, Completed: 1000}, l.Balance())
	assert.True(t, l.WatchesLeases())
	assert.False(t, newLedger(1).WatchesLeases())
}
