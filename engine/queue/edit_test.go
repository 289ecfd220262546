package queue

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An edit is charged by its size, and one that the quota refuses changes nothing.
func TestAnEditIsCharged(t *testing.T) {
	a := &fakeAccount{tenant: "t", broken: t.Fatalf, tasksMax: math.MaxInt64, leasesMax: math.MaxInt64}
	f := newFixture(t, Config{MaxAttempts: 1, Account: func(string) Account { return a }})
	ref := f.fill("q", 1, func(n *NewTask) { n.AddHeaders(map[string]string{"kind": "welcome"}) })[0]
	f.settle("q", Fail)
	before := a.bytes
	edit := func(e Edit) error {
		t.Helper()
		f.Flush()
		stored, found := f.journal.look(ref)
		require.True(t, found)
		done, err := f.EditDead(&stored, &e)
		assert.Equal(t, err == nil, done)
		f.Flush()
		return err
	}
	task := func() (map[string]string, string) {
		stored := f.journal.tasks[ref]
		headers, payload := stored.Split()
		return headers.Map(), string(payload)
	}
	require.NoError(t, edit(Edit{SetPayload: true, Payload: []byte("longer")}))
	headers, payload := task()
	assert.Equal(t, "longer", payload)
	assert.Equal(t, map[string]string{"kind": "welcome"}, headers)
	assert.EqualValues(t, before+5, a.bytes)

	a.bytesMax = a.bytes
	var quota *QuotaError
	require.ErrorAs(t, edit(Edit{SetPayload: true, Payload: []byte("longer!")}), &quota)
	_, payload = task()
	assert.Equal(t, "longer", payload)
	assert.EqualValues(t, before+5, a.bytes)

	require.NoError(t, edit(Edit{SetHeaders: true}))
	headers, payload = task()
	assert.Equal(t, "longer", payload)
	assert.Empty(t, headers)
	assert.EqualValues(t, before+5-int64(HeadersBytes(map[string]string{"kind": "welcome"})), a.bytes)
	assert.EqualValues(t, len("longer"), f.journal.queues[ref.Queue].Counts.Bytes)

	f.moved(ref, f.redriven)
	d := f.lease("q")
	assert.EqualValues(t, len("longer"), d.Bytes)
	assert.False(t, func() bool { did, _ := f.EditDead(&Stored{Ref: ref}, &Edit{SetPayload: true}); return did }(), "it is leased")
}
