package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Pages of leased tasks, of whatever size, are together all of them, each once and in the order of their tokens,
// also when leases end and begin between the pages.
func TestLeasedTasksComeInPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := newMapJournal(t.Fatalf)
		s, err := New(Config{}, j, Recovered{})
		require.NoError(t, err)
		now := int64(1_000)
		s.Enqueue(now, "t", make([]NewTask, 60), make([]Enqueued, 60)) // of the queue ""
		s.Enqueue(now, "t", []NewTask{{Queue: "other"}}, make([]Enqueued, 1))
		held := map[Ref]uint64{} // token
		claim := func(n int, queue string) {
			w, err := s.Subscribe(Claim{Tenant: "t", Queues: []string{queue}, Credit: n}, nil)
			require.NoError(t, err)
			for _, g := range s.Dispatch(now, nil) {
				for _, d := range g.Deliveries {
					if queue == "" {
						held[d.Ref] = d.Token
					}
				}
			}
			s.Unsubscribe(w)
		}
		claim(1, "other")
		for range rapid.IntRange(0, 8).Draw(t, "claims") {
			claim(rapid.IntRange(1, 6).Draw(t, "n"), "")
		}
		q, ok := s.Named("t", "")
		require.True(t, ok)
		begun := map[Ref]uint64{} // held throughout
		for ref, token := range held {
			begun[ref] = token
		}
		got := map[Ref]bool{}
		last := uint64(0)
		var place []byte
		for {
			limit := rapid.IntRange(1, 7).Draw(t, "limit")
			refs, next := s.LeasedTasks(q, place, limit, 0)
			require.LessOrEqual(t, len(refs), limit)
			for _, ref := range refs {
				require.False(t, got[ref.Ref])
				got[ref.Ref] = true
				require.Greater(t, held[ref.Ref], last)
				last = held[ref.Ref]
			}
			if len(next) == 0 {
				break
			}
			require.Len(t, refs, limit)
			place = next
			switch rapid.IntRange(0, 2).Draw(t, "meanwhile") {
			case 0:
				claim(1, "")
			case 1:
				for ref, token := range held {
					s.Settle(now, "t", []Settlement{{Ref: ref, Token: token, Action: Complete}}, make([]error, 1))
					delete(held, ref)
					delete(begun, ref)
					break
				}
			}
		}
		for ref := range begun {
			require.True(t, got[ref], "%v is missing", ref)
		}
	})
}

func TestLeasedTasksRefusesAPlaceOfAnotherList(t *testing.T) {
	f := newFixture(t, Config{})
	f.fill("a", 3)
	require.Len(t, f.dispatch(), 0)
	w := f.wait(3, "a")
	require.Len(t, f.dispatch()[w], 3)
	q, _ := f.Named("t", "a")
	for _, place := range [][]byte{{1}, make([]byte, 9), {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}} {
		refs, next := f.LeasedTasks(q, place, 10, 0)
		assert.Empty(t, refs)
		assert.Empty(t, next)
	}
	refs, next := f.LeasedTasks(q, nil, 0, 0)
	assert.Empty(t, refs)
	assert.Empty(t, next)
}

func TestQueueStatsAreOfOneQueue(t *testing.T) {
	f := newFixture(t, Config{})
	f.fill("a", 3)
	f.fill("b", 1)
	st, ok := f.QueueStats(f.now, "t", "a")
	require.True(t, ok)
	assert.Equal(t, uint64(3), st.Ready)
	assert.Equal(t, f.now, st.ReadySinceMs)
	for _, c := range [][2]string{{"t", "c"}, {"other", "a"}} {
		_, ok = f.QueueStats(f.now, c[0], c[1])
		assert.False(t, ok)
	}
}
