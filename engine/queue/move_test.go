package queue

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (f *fixture) moved(ref Ref, move func(*Stored) bool) {
	f.t.Helper()
	f.Flush()
	t, found := f.journal.look(ref)
	require.True(f.t, found)
	require.True(f.t, move(&t))
}

func (f *fixture) redriven(t *Stored) bool {
	did, err := f.Redrive(t)
	require.NoError(f.t, err)
	return did
}

func (f *fixture) leasedRefs(queue string, n int) (refs []Ref) {
	f.t.Helper()
	for range n {
		refs = append(refs, f.lease(queue).Ref)
	}
	return refs
}

// A prioritized task keeps its age, and its id. Tasks of the same millisecond keep the order of their
// enqueues.
func TestAPrioritizedTaskKeepsItsAge(t *testing.T) {
	for _, recovers := range []bool{false, true} {
		f := newFixture(t, Config{})
		urgent := func(n *NewTask) { n.Priority = 5 }
		first := f.fill("q", 1, urgent)[0]
		moved := f.fill("q", 1)[0]
		second := f.fill("q", 1, urgent)[0]
		low := f.fill("q", 1)[0]
		f.moved(moved, func(t *Stored) bool { return f.Prioritize(t, 5) })
		if recovers {
			f.recover(Config{})
		}
		assert.Equal(t, []Ref{first, moved, second, low}, f.leasedRefs("q", 4), "recovers: %v", recovers)
	}
}

// The priority stays when the task fails, dies and is redriven, also if it changes while it is dead.
func TestAChangedPriorityStays(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 2, Backoff: Backoff{InitialMs: 1, MaxMs: 1, JitterPercent: 1}})
	ref := f.fill("q", 1)[0]
	f.moved(ref, func(t *Stored) bool { return f.Prioritize(t, 7) })
	for range 2 {
		d := f.lease("q")
		require.Equal(t, ref, d.Ref)
		assert.EqualValues(t, 7, d.CurrentPriority())
		f.Flush()
		f.recover(Config{MaxAttempts: 2})
		leased, _ := f.FindLease(ref)
		assert.EqualValues(t, 7, leased.CurrentPriority(), "after a recovery")
		var out [1]error
		f.Settle(f.now, "t", []Settlement{{Ref: ref, Token: d.Token, Action: Fail, DelayMs: 1}}, out[:])
		require.NoError(t, out[0])
		f.pass(10)
	}
	require.Contains(t, f.journal.dead, ref)
	f.moved(ref, func(t *Stored) bool { return f.Prioritize(t, 3) })
	f.fill("q", 1, func(n *NewTask) { n.Priority = 4 })
	f.moved(ref, f.redriven)
	other, d := f.lease("q"), f.lease("q")
	assert.EqualValues(t, 4, other.CurrentPriority())
	assert.Equal(t, ref, d.Ref)
	assert.EqualValues(t, 3, d.CurrentPriority())
}

// A rescheduled task becomes due at its new time, and its attempts, note and time to live stay.
func TestATaskIsRescheduled(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 9})
	ref := f.fill("q", 1, func(n *NewTask) { n.TTLMs = 50_000 })[0]
	d := f.lease("q")
	f.extendWith(&d, "half")
	var out [1]error
	f.Settle(f.now, "t", []Settlement{{Ref: ref, Token: d.Token, Action: Fail, DelayMs: 40_000}}, out[:])
	require.NoError(t, out[0])
	f.moved(ref, func(t *Stored) bool { return f.Reschedule(t, f.now+20_000) })
	f.pass(19_000)
	w := f.wait(1, "q")
	assert.Empty(t, f.dispatch())
	f.Unsubscribe(w)
	f.moved(ref, func(t *Stored) bool { return f.Reschedule(t, 0) })
	again := f.lease("q")
	assert.Equal(t, ref, again.Ref)
	assert.EqualValues(t, 2, again.Attempt)
	assert.EqualValues(t, 4, again.NoteBytes)
	assert.EqualValues(t, 51_000, again.Extras.ExpiresAtMs)
	assert.False(t, f.Reschedule(&Stored{Ref: ref}, 0), "a leased task")
	assert.False(t, f.Prioritize(&Stored{Ref: ref}, 1), "a leased task")
}

// A ready task that is rescheduled to now keeps its place.
func TestAReadyTaskIsNotRescheduledToNow(t *testing.T) {
	f := newFixture(t, Config{})
	refs := f.fill("q", 2)
	f.pass(5)
	f.moved(refs[0], func(t *Stored) bool { return f.Reschedule(t, 0) })
	assert.Equal(t, refs, f.leasedRefs("q", 2))
}

// The difference between priorities takes no memory of tasks that have none.
func TestPriorityShiftsFitIntoTheRoomOfStructs(t *testing.T) {
	assert.EqualValues(t, 48, unsafe.Sizeof(Due{}))
	assert.EqualValues(t, 64, unsafe.Sizeof(LeaseRef{}))
}
