package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (f *fixture) events(name string) Events {
	f.t.Helper()
	q, found := f.Named("t", name)
	require.True(f.t, found)
	return f.Stats(q, f.now).Events
}

func died(n map[Reason]uint64) (by [reasons]uint64) {
	for reason, tasks := range n {
		by[reason] = tasks
	}
	return by
}

func TestEventsOfTasksAreCounted(t *testing.T) {
	cfg := Config{MaxAttempts: 2, Backoff: Backoff{InitialMs: 1, MaxMs: 1, JitterPercent: 1}}
	for name, c := range map[string]struct {
		do   func(f *fixture)
		want Events
	}{
		"completed": {func(f *fixture) { f.settle("q", Complete) }, Events{}},
		"released":  {func(f *fixture) { f.settle("q", Release) }, Events{}},
		"retried":   {func(f *fixture) { f.settle("q", Fail) }, Events{FailedAttempts: 1, Retries: 1}},
		"retried in another queue": {func(f *fixture) {
			f.fill("other", 1)
			f.settle("other", Fail)
		}, Events{}},
		"failed until dead": {func(f *fixture) {
			f.settle("q", Fail)
			f.pass(10)
			f.settle("q", Fail)
		}, Events{FailedAttempts: 2, Retries: 1, Died: died(map[Reason]uint64{AttemptsUsedUp: 1})}},
		"failed permanently": {func(f *fixture) {
			d := f.lease("q")
			var out [1]error
			f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Fail, Permanent: true}}, out[:])
			require.NoError(f.t, out[0])
		}, Events{FailedAttempts: 1, Died: died(map[Reason]uint64{FailedPermanently: 1})}},
		"lease expired until dead": {func(f *fixture) {
			f.lease("q")
			f.pass(3_600_000)
			f.lease("q")
			f.pass(3_600_000)
		}, Events{ExpiredLeases: 2, Retries: 1, Died: died(map[Reason]uint64{AttemptsUsedUp: 1})}},
		"failed after its time to live": {func(f *fixture) {
			f.fill("short", 1, func(t *NewTask) { t.TTLMs, t.LeaseMs = 1_000, 10_000 })
			d := f.lease("short")
			f.now += 2_000
			var out [1]error
			f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Fail}}, out[:])
			require.NoError(f.t, out[0])
			assert.Equal(f.t, Events{FailedAttempts: 1, Died: died(map[Reason]uint64{TimeToLiveOver: 1})}, f.events("short"))
		}, Events{}},
		"cancelled":              {func(f *fixture) { f.cancel(f.fill("q", 1)[0]) }, Events{Cancelled: 1}},
		"cancelled while leased": {func(f *fixture) { f.cancel(f.lease("q").Ref) }, Events{Cancelled: 1}},
		"purged":                 {func(f *fixture) { f.purge() }, Events{}},
		"purged from the dead letters": {func(f *fixture) {
			d := f.lease("q")
			var out [1]error
			f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Fail, Permanent: true}}, out[:])
			f.Flush()
			dead, _ := f.journal.look(d.Ref)
			require.True(f.t, f.PurgeDead(&dead))
		}, Events{FailedAttempts: 1, Died: died(map[Reason]uint64{FailedPermanently: 1})}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, cfg)
			f.fill("q", 1)
			c.do(f)
			assert.Equal(t, c.want, f.events("q"))
			f.recover(cfg)
			assert.Zero(t, f.events("q"), "the counters are not stored")
		})
	}
}

func TestEventsAdd(t *testing.T) {
	one := Events{FailedAttempts: 1, ExpiredLeases: 2, Retries: 3, Cancelled: 4, Died: [reasons]uint64{0, 5, 6, 7}}
	sum := Stats{Events: one}
	sum.Add(&Stats{Events: one})
	assert.Equal(t, Events{FailedAttempts: 2, ExpiredLeases: 4, Retries: 6, Cancelled: 8, Died: [reasons]uint64{0, 10, 12, 14}}, sum.Events)
}
