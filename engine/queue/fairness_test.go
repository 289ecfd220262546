package queue

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fairness is a state whose queues always have tasks.
type fairness struct {
	*State
	t       *rapid.T
	journal *mapJournal
	names   []string
	now     int64
}

func newFairness(t *rapid.T, queues int) *fairness {
	f := &fairness{t: t, now: 1_000, journal: newMapJournal(t.Fatalf)}
	cfg := Config{WindowTasks: rapid.SampledFrom([]int{64, 1_000, 4}).Draw(t, "window")}
	var err error
	f.State, err = New(cfg, f.journal, Recovered{})
	require.NoError(t, err)
	for i := range queues {
		f.names = append(f.names, fmt.Sprint(i))
		f.fill(i, 100)
	}
	return f
}

func (f *fairness) fill(queue, n int) {
	tasks := make([]NewTask, n)
	for i := range tasks {
		tasks[i].Queue = f.names[queue]
	}
	f.Enqueue(f.now, "t", tasks, make([]Enqueued, n))
}

// hand dispatches, counts and completes the granted tasks, and enqueues as many new ones.
func (f *fairness) hand(got map[*Waiter][]int) {
	for range 1_000 {
		for _, g := range f.Dispatch(f.now, nil) {
			for _, d := range g.Deliveries {
				var place int
				_, err := fmt.Sscan(d.Queue.Name(), &place)
				require.NoError(f.t, err)
				if got[g.Waiter] == nil {
					got[g.Waiter] = make([]int, len(f.names))
				}
				got[g.Waiter][place]++
				f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Complete}}, make([]error, 1))
				f.fill(place, 1)
			}
		}
		refills := f.Refills()
		for _, r := range refills {
			f.journal.answer(f.State, r)
		}
		if len(refills) == 0 && !f.Unfinished() {
			return
		}
	}
	f.t.Fatalf("the dispatch does not end")
}

// A waiter with few credits at a time gets tasks of each of its queues in exact proportion to the
// weights: a queue is never ahead or behind by more than its share of one round. While the store is
// read for an empty window, the current credits go to another queue.
func TestFewCreditsAreSharedByTheWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "queues")
		f := newFairness(t, n)
		c := Claim{Tenant: "t", Queues: f.names}
		sum := 0
		for range n {
			c.Weights = append(c.Weights, rapid.Uint32Range(1, 12).Draw(t, "weight"))
			sum += int(c.Weights[len(c.Weights)-1])
		}
		w, err := f.Subscribe(c, nil)
		require.NoError(t, err)
		got := map[*Waiter][]int{}
		for total := 0; total < 8*sum; {
			credit := rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "credit")
			f.Credit(w, credit)
			f.hand(got)
			total += credit
			slack := 1 + 2*(total/f.cfg.WindowTasks)
			for i, weight := range c.Weights {
				share := float64(total) * float64(weight) / float64(sum)
				require.InDelta(t, share, got[w][i], float64(int(weight)+slack), "of %d tasks with weights %v: %v", total, c.Weights, got[w])
			}
		}
	})
}

// With many credits at a time, the shares hold in the long run, independent of the order of the
// queues' turns.
func TestManyCreditsAreSharedByTheWeights(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := newFixture(t, Config{})
		c := Claim{Tenant: "t"}
		sum := 0
		for i := range 2 + r.IntN(4) {
			c.Queues, c.Weights = append(c.Queues, fmt.Sprint(i)), append(c.Weights, 1+r.Uint32N(4))
			sum += int(c.Weights[i])
			f.fill(c.Queues[i], 4_000)
		}
		w, err := f.Subscribe(c, nil)
		require.NoError(t, err)
		most := []int{10, 50, 150, 400}[r.IntN(4)]
		got, total := map[string]int{}, 0
		for total < 3_000 {
			credit := 1 + r.IntN(most)
			f.Credit(w, credit)
			total += credit
			for _, d := range f.dispatch()[w] {
				got[d.Queue.Name()]++
			}
		}
		for i, weight := range c.Weights {
			share := float64(total) * float64(weight) / float64(sum)
			require.InDelta(t, share, got[c.Queues[i]], 0.06*float64(total), "seed %d: %d tasks, up to %d at a time, with weights %v: %v", seed, total, most, c.Weights, got)
		}
	}
}

// No queue with a waiter starves, independent of how the waiters share queues and of how few
// credits they have.
func TestNoQueueOfAWaiterStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "queues")
		f := newFairness(t, n)
		some := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, n, rapid.ID[int])
		of := map[*Waiter][]int{}
		var waiters []*Waiter
		for range rapid.IntRange(1, 5).Draw(t, "waiters") {
			c := Claim{Tenant: "t"}
			places := some.Draw(t, "queues of a waiter")
			for _, place := range places {
				c.Queues = append(c.Queues, f.names[place])
				c.Weights = append(c.Weights, rapid.Uint32Range(1, 5).Draw(t, "weight"))
			}
			w, err := f.Subscribe(c, nil)
			require.NoError(t, err)
			waiters = append(waiters, w)
			of[w] = places
		}
		got := map[*Waiter][]int{}
		starved := func() (all []string) {
			for _, w := range waiters {
				for _, place := range of[w] {
					if got[w] == nil || got[w][place] == 0 {
						all = append(all, fmt.Sprintf("queue %d of a waiter of %v that got %v", place, of[w], got[w]))
					}
				}
			}
			return all
		}
		// Usually 80 rounds are enough. If the other waiters often empty a small window first, a
		// waiter with few credits has got one task of a queue in 38 rounds on average.
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed of the credits"), 1))
		for rounds := 0; rounds < 4_000 && (rounds < 80 || len(starved()) > 0); rounds++ {
			for _, w := range waiters {
				f.Credit(w, []int{1, 1, 2, 0, 9}[r.IntN(5)])
			}
			f.hand(got)
		}
		require.Empty(t, starved())
	})
}
