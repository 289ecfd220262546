package queue

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fixture is a state on a journal in memory, for tests that specify each step.
type fixture struct {
	t       *testing.T
	now     int64
	journal *mapJournal
	*State
}

func newFixture(t *testing.T, cfg Config) *fixture {
	t.Helper()
	j := newMapJournal(t.Fatalf)
	s, err := New(cfg, j, Recovered{})
	require.NoError(t, err)
	return &fixture{t: t, now: 1_000, journal: j, State: s}
}

// fill enqueues n tasks of the tenant "t".
func (f *fixture) fill(queue string, n int, change ...func(*NewTask)) []Ref {
	f.t.Helper()
	tasks, out := make([]NewTask, n), make([]Enqueued, n)
	for i := range tasks {
		tasks[i] = NewTask{Queue: queue, Payload: []byte(queue)}
		for _, c := range change {
			c(&tasks[i])
		}
	}
	f.Enqueue(f.now, "t", tasks, out)
	refs := make([]Ref, n)
	for i := range out {
		require.NoError(f.t, out[i].Err)
		refs[i] = out[i].Ref
	}
	return refs
}

func (f *fixture) wait(credit int, queues ...string) *Waiter {
	f.t.Helper()
	w, err := f.Subscribe(Claim{Tenant: "t", Queues: queues, Credit: credit}, nil)
	require.NoError(f.t, err)
	return w
}

// dispatch leases all available tasks, as a shard does, and returns the deliveries of each waiter.
func (f *fixture) dispatch() map[*Waiter][]Delivery {
	f.t.Helper()
	got := map[*Waiter][]Delivery{}
	for range 1_000 {
		for _, g := range f.Dispatch(f.now, nil) {
			got[g.Waiter] = append(got[g.Waiter], g.Deliveries...)
		}
		refills := f.Refills()
		for _, r := range refills {
			f.journal.answer(f.State, r)
		}
		if len(refills) == 0 && !f.Unfinished() {
			return got
		}
	}
	f.t.Fatal("the dispatch does not end")
	return nil
}

func byQueue(ds []Delivery) map[string]int {
	n := map[string]int{}
	for _, d := range ds {
		n[d.Queue.Name()]++
	}
	return n
}

func TestWaiterOfSeveralQueuesGetsFromEach(t *testing.T) {
	f := newFixture(t, Config{})
	f.fill("a", 1_000)
	f.fill("b", 1_000)
	f.fill("c", 1_000)
	w := f.wait(3*quantum, "a", "b", "c")
	assert.Equal(t, map[string]int{"a": quantum, "b": quantum, "c": quantum}, byQueue(f.dispatch()[w]))
}

func TestWaitersOfOneQueueShareIt(t *testing.T) {
	f := newFixture(t, Config{})
	var ws []*Waiter
	for range 4 {
		ws = append(ws, f.wait(1_000, "a"))
	}
	f.fill("a", 40)
	got := f.dispatch()
	for i, w := range ws {
		assert.GreaterOrEqual(t, len(got[w]), 5, "waiter %d of 4", i)
	}
}

func TestBusyQueueDoesNotStarveAnotherWaitersQueue(t *testing.T) {
	f := newFixture(t, Config{})
	f.fill("busy", 5_000)
	f.fill("quiet", 1)
	both, quiet := f.wait(2, "busy", "quiet"), f.wait(1, "quiet")
	got := f.dispatch()
	assert.Len(t, got[both], 2)
	assert.Equal(t, 1, byQueue(got[both])["quiet"]+byQueue(got[quiet])["quiet"])
}

func TestOnceWaiterGetsOneGrant(t *testing.T) {
	f := newFixture(t, Config{})
	w, err := f.Subscribe(Claim{Tenant: "t", Queues: []string{"a"}, Credit: 10, Once: true}, nil)
	require.NoError(t, err)
	f.fill("a", 3)
	assert.Len(t, f.dispatch()[w], 3)
	f.fill("a", 3)
	assert.Empty(t, f.dispatch(), "a Once waiter gets one grant")
}

// A token can address maxBatch tasks of a batch. A waiter with more credit gets several batches.
func TestMoreTasksThanABatchHoldsComeInSeveral(t *testing.T) {
	f := newFixture(t, Config{turnMax: 1 << 20, WindowTasks: 1 << 14})
	n := 2*maxBatch + 10
	f.fill("a", n)
	w := f.wait(n, "a")
	ds := f.dispatch()[w]
	require.Len(t, ds, n)
	tokens := map[uint64]bool{}
	for i, d := range ds {
		assert.Equal(t, uint64(i), d.Seq)
		tokens[d.Token] = true
	}
	assert.Len(t, tokens, n)
	assert.Len(t, f.journal.leases, 3)

	out := make([]error, n)
	settlements := make([]Settlement, n)
	for i, d := range ds {
		settlements[i] = Settlement{Ref: d.Ref, Token: d.Token, Action: Complete}
	}
	f.Settle(f.now, "t", settlements, out)
	for _, err := range out {
		require.NoError(t, err)
	}
	assert.Empty(t, f.journal.leases)
	assert.Empty(t, f.journal.tasks)
}

// The windows of many queues stay within their common bound, for fresh and for returned tasks, even
// if each queue is busy and has a backlog.
func TestWindowsOfManyQueuesStayWithinTheirBound(t *testing.T) {
	const queues, most = 30, 40
	cfg := Config{WindowTasks: 16, WindowsTasks: most}
	for name, delayMs := range map[string]uint64{"fresh": 0, "returned": 5} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, cfg)
			for i := range queues {
				f.fill(fmt.Sprint(i), 20, func(n *NewTask) { n.DelayMs = delayMs })
			}
			f.now += 5
			f.Tick(f.now)
			for i := range queues {
				w := f.wait(2, fmt.Sprint(i))
				require.Len(t, f.dispatch()[w], 2)
				floor := queues * f.cfg.windowFloor()
				require.LessOrEqual(t, f.windowsTasks, most+floor)
				require.LessOrEqual(t, f.returnedTasks, most+floor)
			}
		})
	}
}

// A stored lease of a queue that is not stored is damage, which the recovery reports.
func TestRecoveryRefusesALeaseOfAnUnknownQueue(t *testing.T) {
	_, err := New(Config{}, newMapJournal(t.Fatalf), Recovered{Leases: []RecoveredLease{
		{Batch: 7, Refs: []LeaseRef{{Ref: Ref{Queue: 3}, Attempt: 1, ExpiresAtMs: 5}}},
	}})
	require.ErrorContains(t, err, "lease batch 7 names queue 3")
}

// A recovered queue has empty windows, but a claim that does not wait still gets its tasks.
func TestClaimAfterRecoveryReadsTheStore(t *testing.T) {
	f := newFixture(t, Config{})
	f.fill("a", 2)
	f.fill("a", 1, func(n *NewTask) { n.DelayMs = 10 })
	f.Flush()
	s, err := New(Config{trimAfterMs: math.MaxInt32}, f.journal, f.journal.recovered())
	require.NoError(t, err)
	f.State, f.now = s, f.now+10
	w := f.wait(10, "a")
	ds := f.dispatch()[w]
	require.Len(t, ds, 3)
	assert.Equal(t, uint64(2), ds[2].Seq, "the others were enqueued before its due time")
	assert.Equal(t, f.now+int64(DefaultConfig().LeaseMs), f.NextDeadlineMs())
}

// A second answer to a refill, which would return leased tasks to the window, is ignored.
func TestSecondAnswerToARefillIsIgnored(t *testing.T) {
	for name, delayMs := range map[string]uint64{"fresh": 0, "returned": 5} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Config{WindowTasks: 2})
			f.fill("a", 6, func(n *NewTask) { n.DelayMs = delayMs })
			f.now += 5
			f.Flush()
			s, err := New(f.cfg, f.journal, f.journal.recovered())
			require.NoError(t, err)
			f.State = s
			w := f.wait(2, "a")
			require.Empty(t, f.Dispatch(f.now, nil))
			late := slices.DeleteFunc(f.Refills(), func(r Refill) bool {
				if r.Stream == StreamDue {
					f.journal.answer(f.State, r)
				}
				return r.Stream == StreamDue
			})
			require.Len(t, late, 1)
			f.journal.answer(f.State, late[0])
			require.Len(t, f.dispatch()[w], 2)
			due := []SeqDue{{Seq: 0, Due: Due{MaxAttempts: 9}}}
			if late[0].Stream == StreamReturned {
				f.RefillReturned(late[0], due, true)
			} else {
				tasks, next := f.journal.fresh(Refill{Queue: late[0].Queue, UntilSeq: late[0].UntilSeq, Limit: 2})
				f.RefillFresh(late[0], tasks, next)
			}
			f.Credit(w, 1)
			ds := f.dispatch()[w]
			require.Len(t, ds, 1)
			assert.Equal(t, uint64(2), ds[0].Seq)
		})
	}
}

func TestQueueIsFoundByItsID(t *testing.T) {
	f := newFixture(t, Config{})
	ref := f.fill("a", 1)[0]
	q, ok := f.Queue(ref.Queue)
	require.True(t, ok)
	assert.Equal(t, "a", q.Name())
	assert.Equal(t, "t", q.Tenant())
	_, ok = f.Queue(ref.Queue + 1)
	assert.False(t, ok)
}

// Flush writes nothing without decisions, so that an idle shard commits nothing.
func TestFlushSaysWhetherThereIsSomethingToCommit(t *testing.T) {
	f := newFixture(t, Config{})
	assert.False(t, f.Flush())
	f.fill("a", 1)
	assert.True(t, f.Flush())
	f.Tick(f.now)
	assert.Empty(t, f.dispatch())
	assert.False(t, f.Flush())
}

// TestAWaiterHoldsABoundedNumberOfBytes gives a waiter credit for many large tasks. The bytes that
// are delivered and not sent are bounded, also for returned tasks, and Sent makes room for further
// tasks.
func TestAWaiterHoldsABoundedNumberOfBytes(t *testing.T) {
	f := newFixture(t, Config{})
	const mib = 1 << 20
	large := func(n *NewTask) { n.Payload = make([]byte, mib) }
	f.fill("q", 2*waiterBytesMax/mib, large)
	w := f.wait(1_000, "q")
	first := f.dispatch()[w]
	require.Len(t, first, waiterBytesMax/mib)

	f.Sent(w, 2*mib)
	require.Len(t, f.dispatch()[w], 2, "Sent made room for two tasks")
	f.Sent(w, 0)
	require.Empty(t, f.dispatch(), "no bytes were sent since")

	out := make([]error, 1)
	f.Settle(f.now, "t", []Settlement{{Ref: first[0].Ref, Token: first[0].Token, Action: Release}}, out)
	require.NoError(t, out[0])
	f.Sent(w, 1)
	again := f.dispatch()[w]
	require.Len(t, again, 1)
	assert.Equal(t, first[0].Ref, again[0].Ref)
	assert.EqualValues(t, mib, again[0].Bytes, "the size is known although the payload is not in memory")
	require.Empty(t, f.dispatch())
}
