package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// writes counts the written leases in both kinds of records.
type writes struct {
	*mapJournal
	refs, small, dropped int
}

func (w *writes) PutLease(batch uint64, refs []LeaseRef, claimedMs int64) {
	w.refs += len(refs)
	w.mapJournal.PutLease(batch, refs, claimedMs)
}

func (w *writes) ReplaceLease(batch uint64, refs []LeaseRef, claimedMs int64) {
	w.refs += len(refs)
	w.mapJournal.ReplaceLease(batch, refs, claimedMs)
}

func (w *writes) PutExtension(batch uint64, i int, untilMs int64) {
	w.small++
	w.mapJournal.PutExtension(batch, i, untilMs)
}

func (w *writes) DropExtension(batch uint64, i int) {
	w.dropped++
	w.mapJournal.DropExtension(batch, i)
}

func leaseAll(t *testing.T, n int) (*writes, *State, []Delivery) {
	t.Helper()
	j := &writes{mapJournal: newMapJournal(t.Fatalf)}
	s, err := New(Config{turnMax: n}, j, Recovered{})
	require.NoError(t, err)
	f := &fixture{t: t, now: 1_000, journal: j.mapJournal, State: s}
	f.fill("q", n)
	got := f.dispatchTo(f.wait(n, "q"))
	require.Len(t, got, n)
	require.Len(t, j.leases, 1, "one batch")
	s.Flush()
	j.refs = 0
	return j, s, got
}

func (f *fixture) dispatchTo(w *Waiter) []Delivery { return f.dispatch()[w] }

// If the tasks of a large batch are extended one by one, the writes are proportional to the number
// of extensions, not to its square.
func TestExtensionsOneByOneWriteWhatChanged(t *testing.T) {
	const n = 4_096
	j, s, got := leaseAll(t, n)
	for round := range 3 {
		for i, d := range got {
			var out [1]error
			s.Settle(2_000, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Extend, LeaseMs: uint64(60_000*(round+1) + i)}}, out[:])
			require.NoError(t, out[0])
			require.True(t, s.Flush(), "an extension is stored")
		}
	}
	extended := 3 * n
	assert.LessOrEqual(t, j.small, extended, "small records")
	assert.LessOrEqual(t, j.refs, 2*extensionsPart*extended, "tasks in rewritten batch records")
	assert.LessOrEqual(t, j.dropped, j.small)
	assert.LessOrEqual(t, len(j.extended), n/extensionsPart, "small records stored at the same time")
}

// If one call extends much of a batch, the batch's record is rewritten once.
func TestExtensionOfAllIsOneRecord(t *testing.T) {
	j, s, got := leaseAll(t, 64)
	all, out := make([]Settlement, len(got)), make([]error, len(got))
	for i, d := range got {
		all[i] = Settlement{Ref: d.Ref, Token: d.Token, Action: Extend, LeaseMs: 90_000}
	}
	s.Settle(2_000, "t", all, out)
	s.Settle(2_000, "t", all, out) // twice in one commit
	s.Flush()
	assert.Equal(t, 64, j.refs)
	assert.Zero(t, j.small)
	assert.False(t, s.Flush(), "extensions are stored once")
}

// Tasks of a batch with different expiries expire in that order. Extended tasks do not expire
// early.
func TestTasksOfABatchExpireInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 130
		s, err := New(Config{}, newMapJournal(t.Fatalf), Recovered{})
		require.NoError(t, err)
		tasks, out := make([]NewTask, n), make([]Enqueued, n)
		until := map[Ref]int64{}
		for i := range tasks {
			tasks[i] = NewTask{Queue: "q", LeaseMs: rapid.Uint64Range(1, 50).Draw(t, "lease")}
		}
		s.Enqueue(1_000, "t", tasks, out)
		for i := range out {
			until[out[i].Ref] = 1_000 + int64(tasks[i].LeaseMs)
		}
		_, err = s.Subscribe(Claim{Tenant: "t", Queues: []string{"q"}, Credit: n, Once: true}, nil)
		require.NoError(t, err)
		ds := s.Dispatch(1_000, nil)[0].Deliveries
		for now := int64(1_001); now < 1_060; now++ {
			s.Tick(now)
			for range rapid.IntRange(0, 3).Draw(t, "extensions") {
				d := rapid.SampledFrom(ds).Draw(t, "task")
				more := rapid.Uint64Range(1, 30).Draw(t, "more")
				var outcome [1]error
				s.Settle(now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Extend, LeaseMs: more}}, outcome[:])
				if _, is := until[d.Ref]; is && until[d.Ref] > now {
					require.NoError(t, outcome[0])
					until[d.Ref] = now + int64(more)
				} else {
					require.ErrorIs(t, outcome[0], ErrStaleToken)
				}
			}
			for ref, at := range until {
				l, leased := s.FindLease(ref)
				if leased != (at > now) || leased && l.ExpiresAtMs != at {
					t.Fatalf("at %d: %v is leased: %v until %d, want until %d", now, ref, leased, l.ExpiresAtMs, at)
				}
			}
		}
	})
}
