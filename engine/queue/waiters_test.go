package queue

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWaitersBehaveAsASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l waiters
		var want []*subscription
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				var got []*subscription
				for s := l.front(); s != nil; s = s.after {
					if !s.listed {
						t.Fatal("a listed subscription does not have listed set")
					}
					got = append(got, s)
				}
				if l.len() != len(want) || !slices.Equal(got, want) || len(want) > 0 && l.last != want[len(want)-1] {
					t.Fatalf("%d waiters %p, want %p", l.len(), got, want)
				}
			},
			"push": func(*rapid.T) {
				s := &subscription{}
				l.push(s)
				want = append(want, s)
			},
			"remove": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(want)-1).Draw(t, "i")
				s := want[i]
				l.remove(s)
				if s.listed || s.before != nil || s.after != nil {
					t.Fatal("a removed subscription keeps its links")
				}
				want = slices.Delete(want, i, i+1)
			},
			"rotate": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip()
				}
				l.rotate()
				want = append(want[1:], want[0])
			},
		})
	})
}

// Waiters that spent their credit on another queue stay listed until their queue's turn, which
// removes a bounded number of them at a time.
func TestWaitersWithoutCreditAreLeftOutInParts(t *testing.T) {
	const n, part = 100, 10
	f := newFixture(t, Config{turnMax: part})
	require.NoError(t, f.Pause("t", "b", true))
	for range n {
		f.wait(1, "a", "b")
	}
	f.fill("a", n)
	require.Len(t, f.dispatch(), n)
	f.fill("b", 1)
	last := f.wait(1, "b")
	require.NoError(t, f.Pause("t", "b", false))
	f.Worked()
	for range n {
		grants := f.Dispatch(f.now, nil)
		require.LessOrEqual(t, f.Worked(), part+2)
		if len(grants) > 0 {
			require.Equal(t, last, grants[0].Waiter)
			return
		}
		require.True(t, f.Exhausted())
	}
	t.Fatal("the last waiter got no task")
}
