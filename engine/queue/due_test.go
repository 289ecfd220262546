package queue

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// dueCounter is a state with one queue, to test the count of due tasks.
type dueCounter struct {
	now     int64
	cfg     Config
	journal *mapJournal
	state   *State
}

func newDueCounter(t require.TestingT, cfg Config, broken func(string, ...any)) *dueCounter {
	c := &dueCounter{now: 1_000, cfg: cfg, journal: newMapJournal(broken)}
	c.recover(t, 0)
	return c
}

// recover makes a new state from the journal, with a clock that differs by stepMs from the previous
// one.
func (c *dueCounter) recover(t require.TestingT, stepMs int64) {
	s, err := New(c.cfg, c.journal, c.journal.recovered())
	require.NoError(t, err)
	c.now += stepMs
	c.state = s
	s.Tick(c.now)
}

func (c *dueCounter) enqueue(delayMs uint64) {
	c.state.Enqueue(c.now, "t", []NewTask{{Queue: "q", DelayMs: delayMs}}, make([]Enqueued, 1))
}

func (c *dueCounter) check(t require.TestingT) {
	c.state.Flush()
	q, ok := c.state.Named("t", "q")
	if !ok {
		return
	}
	c.answer()
	turns := 0
	for !c.state.Refresh(q, c.now) {
		turns++
		require.LessOrEqual(t, turns, 10+2*len(c.journal.due), "each turn counts at least one task")
		c.answer()
	}
	due, delayed, since := uint64(0), uint64(0), int64(1)<<60
	for _, lane := range []uint8{0, DelayedLane(0)} {
		for _, k := range c.journal.dueKeys(laneOf{q.ID(), lane}) {
			if k.dueAtMs <= c.now {
				due++
				since = min(since, k.dueAtMs)
			} else {
				delayed++
			}
		}
	}
	st := c.state.Stats(q, c.now)
	require.Equal(t, []uint64{due, delayed}, []uint64{st.Ready, st.Delayed}, "at %d", c.now)
	if due > 0 {
		require.Equal(t, since, st.ReadySinceMs)
	}
}

// answer answers the requested refills, as a shard does.
func (c *dueCounter) answer() {
	c.state.Flush()
	for _, r := range c.state.Refills() {
		c.journal.answer(c.state, r)
	}
}

// The count of due tasks is exact by the current clock, even if the clock before a recovery was
// ahead.
func TestDueTasksAreCountedByTheClockThatHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newDueCounter(t, Config{WindowTasks: rapid.IntRange(1, 4).Draw(t, "window"), LookMax: rapid.IntRange(1, 30).Draw(t, "count")}, t.Fatalf)
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { c.state.Flush() },
			"enqueue": func(t *rapid.T) {
				for range rapid.IntRange(1, 5).Draw(t, "n") {
					c.enqueue(rapid.Uint64Range(1, 40).Draw(t, "delay"))
				}
			},
			"time": func(t *rapid.T) {
				c.now += rapid.Int64Range(1, 30).Draw(t, "ms")
				c.state.Tick(c.now)
			},
			"turn":    func(*rapid.T) { c.answer() },
			"figures": func(t *rapid.T) { c.check(t) },
			"claim": func(t *rapid.T) {
				w, err := c.state.Subscribe(Claim{Tenant: "t", Queues: []string{"q"}, Credit: rapid.IntRange(1, 4).Draw(t, "n")}, nil)
				require.NoError(t, err)
				for range 3 {
					for _, g := range c.state.Dispatch(c.now, nil) {
						for _, d := range g.Deliveries {
							s := Settlement{Ref: d.Ref, Token: d.Token, Action: Release, DelayMs: rapid.Uint64Range(0, 9).Draw(t, "again")}
							c.state.Settle(c.now, "t", []Settlement{s}, make([]error, 1))
						}
					}
					c.answer()
				}
				c.state.Unsubscribe(w)
			},
			"recover": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "stored by an older server") == 0 {
					for id, r := range c.journal.queues {
						if r.Due != nil {
							r.Due = new([Lanes]DueCount)
							for n := range r.Due {
								r.Due[n].BeforeMs = math.MinInt64
							}
							c.journal.queues[id] = r
						}
					}
				}
				c.recover(t, rapid.Int64Range(-25, 25).Draw(t, "step"))
			},
		})
		c.check(t)
	})
}

// A backlog of tasks that became due beyond the window is counted in parts of LookMax. Each part is
// stored, so that a recovery in between continues from there.
func TestDueTasksAreCountedInPartsThatAreStored(t *testing.T) {
	const n, part = 1_000, 100
	c := newDueCounter(t, Config{WindowTasks: 10, LookMax: part, trimAfterMs: math.MaxInt32}, t.Fatalf)
	for i := range uint64(n) {
		c.enqueue(1 + i%7)
	}
	c.now += 10
	c.state.Tick(c.now)
	turns := 0
	for ; len(c.state.refills) > 0; turns++ {
		c.answer()
		if turns == n/part/2 {
			counted := c.journal.queues[0].Due[DelayedLane(0)].Tasks
			assert.Greater(t, counted, uint64(n/3))
			c.recover(t, 0)
			q, _ := c.state.Named("t", "q")
			require.Equal(t, counted, q.lanes[DelayedLane(0)].due, "the recovery does not count from the beginning")
		}
		c.state.Tick(c.now)
	}
	assert.InDelta(t, n/part, turns, 3)
	c.check(t)
	assert.Greater(t, c.state.NextDeadlineMs(), c.now+1_000_000, "no work is left")
}

// While no figures are requested and no worker waits, a lane does not read the store for each task
// that becomes due.
func TestDueTasksBeyondTheWindowAreCountedNowAndThen(t *testing.T) {
	c := newDueCounter(t, Config{WindowTasks: 10}, t.Fatalf)
	const ms = 5_000
	for i := range uint64(ms) {
		c.enqueue(1 + i)
	}
	reads := 0
	for range ms + 2*countEveryMs {
		c.now++
		c.state.Tick(c.now)
		refills := c.state.Refills()
		reads += len(refills)
		for _, r := range refills {
			c.journal.answer(c.state, r)
		}
	}
	assert.Positive(t, reads)
	assert.LessOrEqual(t, reads, 2+ms/countEveryMs+2)
	q, _ := c.state.Named("t", "q")
	assert.Equal(t, uint64(ms), q.lanes[DelayedLane(0)].due)
}

// Many leases that expire simultaneously end in parts. None of them can be settled before its end
// either.
func TestLeasesThatExpireTogetherEndInParts(t *testing.T) {
	const batches, each, part = 30, 10, 25
	f := newFixture(t, Config{SweepMax: part})
	f.fill("a", batches*each)
	var ds []Delivery
	for range batches {
		w := f.wait(each, "a")
		ds = append(ds, f.dispatch()[w]...)
	}
	require.Len(t, ds, batches*each)
	f.now += int64(f.cfg.LeaseMs)
	left := batches * each
	for turns := 0; left > 0; turns++ {
		f.Tick(f.now)
		q, _ := f.Named("t", "a")
		ended := left - int(q.record.Counts.Leased)
		require.Positive(t, ended)
		require.Less(t, ended, part+each)
		left -= ended
		require.Equal(t, left == 0, f.Swept(f.now))
		if turns == 3 {
			// A task that is not swept yet.
			last := ds[slices.IndexFunc(ds, func(d Delivery) bool { return f.batches[d.Token>>batchBits] != nil })]
			out := make([]error, 1)
			f.Settle(f.now, "t", []Settlement{{Ref: last.Ref, Token: last.Token, Action: Complete}}, out)
			require.ErrorIs(t, out[0], ErrStaleToken)
			require.Contains(t, f.journal.leases, last.Token>>batchBits, "a later sweep ends it")
		}
		require.Equal(t, left > 0, f.NextDeadlineMs() <= f.now)
	}
	require.Empty(t, f.journal.leases)
}
