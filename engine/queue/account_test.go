package queue

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func withQuota(t *testing.T, leasesMax int64) (*fixture, *fakeAccount) {
	t.Helper()
	a := &fakeAccount{tenant: "t", broken: t.Fatalf, tasksMax: math.MaxInt64, leasesMax: leasesMax}
	return newFixture(t, Config{Account: func(string) Account { return a }}), a
}

// A queue whose tenant is at its quota of leases continues as soon as one of this shard's leases
// ends.
func TestEndOfALeaseFeedsTheStarvedQueues(t *testing.T) {
	f, a := withQuota(t, 2)
	f.fill("a", 3)
	f.fill("b", 3)
	w := f.wait(10, "a", "b")
	ds := f.dispatch()[w]
	require.Len(t, ds, 2)
	require.Empty(t, f.dispatch())
	f.Settle(f.now, "t", []Settlement{{Ref: ds[0].Ref, Token: ds[0].Token, Action: Complete}}, make([]error, 1))
	require.Len(t, f.dispatch()[w], 1, "without passing of time")
	assert.Equal(t, int64(2), a.leases)
}

// If another shard holds the leases, the state is not notified of their end, so it soon tries the
// queue again.
func TestStarvedQueueIsTriedAgainSoon(t *testing.T) {
	f, a := withQuota(t, 2)
	a.others = 2
	f.fill("a", 3)
	w := f.wait(10, "a")
	require.Empty(t, f.dispatch())
	for range 3 {
		require.Equal(t, f.now+leaseRetryMs, f.NextDeadlineMs())
		f.now += leaseRetryMs
		f.Tick(f.now)
		require.Empty(t, f.dispatch())
	}
	a.others = 1
	f.now += leaseRetryMs
	f.Tick(f.now)
	assert.Len(t, f.dispatch()[w], 1)
}

// A starved queue without a ready task is not tried repeatedly.
func TestEmptyQueueIsNotTriedAgain(t *testing.T) {
	f, a := withQuota(t, 0)
	f.cfg.trimAfterMs = math.MaxInt32
	w := f.wait(10, "empty", "delayed", "paused")
	f.fill("delayed", 1, func(n *NewTask) { n.DelayMs = 70 })
	require.NoError(t, f.Pause("t", "paused", true))
	f.fill("paused", 1)
	require.Empty(t, f.dispatch())
	assert.Equal(t, f.now+70, f.NextDeadlineMs(), "when the delayed task is due")
	f.now += 70
	f.Tick(f.now)
	require.Empty(t, f.dispatch())
	assert.Equal(t, f.now+leaseRetryMs, f.NextDeadlineMs())
	a.leasesMax = 1
	f.now += leaseRetryMs
	f.Tick(f.now)
	require.Len(t, f.dispatch()[w], 1)
	assert.Equal(t, f.now+int64(DefaultConfig().LeaseMs), f.NextDeadlineMs(), "the end of the lease")
}

func TestQuotaErrorSaysWhichAndWhatToDo(t *testing.T) {
	err := &QuotaError{Tenant: "t", Quota: "tasks_max", Max: 5, RetryAfterMs: 7}
	assert.EqualError(t, err, `tenant "t" is at its quota tasks_max of 5: try again later, or have the quota raised`)
}
