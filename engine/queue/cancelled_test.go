package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (f *fixture) refusal(tenant string, d *Delivery, how Action) error {
	var out [1]error
	f.Settle(f.now, tenant, []Settlement{{Ref: d.Ref, Token: d.Token, Action: how, LeaseMs: 1_000}}, out[:])
	return out[0]
}

// Only the tenant of a cancelled task learns that it was cancelled, even after its queue is deleted.
func TestACancelledLeaseIsRefusedAsCancelled(t *testing.T) {
	f := newFixture(t, Config{})
	f.fill("q", 2)
	w := f.wait(2, "q")
	ds := f.dispatchTo(w)
	require.Len(t, ds, 2)
	f.cancel(ds[1].Ref)
	assert.Equal(t, []CancelledLease{{Waiter: w, Ref: ds[1].Ref, Token: ds[1].Token}}, f.CancelledLeases())
	assert.Empty(t, f.CancelledLeases(), "each is reported once")
	for _, how := range []Action{Complete, Fail, Release, Extend} {
		require.ErrorIs(t, f.refusal("t", &ds[1], how), ErrCancelled)
		require.ErrorIs(t, f.refusal("u", &ds[1], how), ErrStaleToken)
	}
	wrong := ds[0]
	wrong.Token = ds[1].Token
	require.ErrorIs(t, f.refusal("t", &wrong, Complete), ErrStaleToken, "another task's token")
	require.NoError(t, f.refusal("t", &ds[0], Complete))

	f.Unsubscribe(w)
	q, found := f.Named("t", "q")
	require.True(t, found)
	require.NoError(t, f.Delete(q))
	require.ErrorIs(t, f.refusal("t", &ds[1], Complete), ErrCancelled)

	f.recover(Config{})
	require.ErrorIs(t, f.refusal("t", &ds[1], Complete), ErrStaleToken, "the state has forgotten it")
}

// A lease of a waiter that has ended is not reported, and the state keeps no such waiter in memory.
func TestOnlyAWaiterThatHoldsALeaseLearnsOfItsEnd(t *testing.T) {
	f := newFixture(t, Config{})
	f.fill("q", 4)
	w, other := f.wait(1, "q"), f.wait(0, "q")
	streamed := f.dispatchTo(w)[0]
	_, err := f.Subscribe(Claim{Tenant: "t", Queues: []string{"q"}, Credit: 1, Once: true}, nil)
	require.NoError(t, err)
	var claimed Delivery
	for _, ds := range f.dispatch() {
		claimed = ds[0]
	}
	f.cancel(claimed.Ref)
	assert.Empty(t, f.CancelledLeases(), "a claim's lease")
	f.Unsubscribe(w)
	f.cancel(streamed.Ref)
	assert.Empty(t, f.CancelledLeases(), "the lease of a waiter that has ended")

	f.Credit(other, 1)
	kept := f.dispatchTo(other)[0]
	f.recover(Config{})
	f.wait(0, "q")
	f.cancel(kept.Ref)
	assert.Empty(t, f.CancelledLeases(), "a lease from before a recovery")
	assert.Len(t, f.holders, 1)
}
