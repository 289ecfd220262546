package queue

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLimitsAreChecked(t *testing.T) {
	l := DefaultLimits()
	for field, p := range map[string]Policy{
		"limit.leased_max":       {Limit: Limit{LeasedMax: leasedMaxMost + 1}},
		"limit.burst":            {Limit: Limit{LeasedMax: 1, Burst: 1}},
		"group_limit.rate_per_s": {GroupLimit: Limit{RateMilli: RateMilli(1_000_001)}},
		"group_limit.burst":      {GroupLimit: Limit{RateMilli: 1, Burst: burstMost + 1}},
	} {
		bad := l.CheckPolicy(&p)
		require.NotNil(t, bad, field)
		assert.Equal(t, field, bad.Field)
	}
	for _, perS := range []float64{-1, 0.0004, math.NaN(), math.Inf(1), 1_000_001} {
		assert.NotNil(t, l.CheckPolicy(&Policy{Limit: Limit{RateMilli: RateMilli(perS)}}), "%v", perS)
	}
	for _, perS := range []float64{0, 0.001, 2.5, 1_000_000} {
		limit := Limit{RateMilli: RateMilli(perS)}
		assert.Nil(t, l.CheckPolicy(&Policy{Limit: limit}))
		assert.InDelta(t, perS, limit.RatePerS(), 0)
	}
}

// The number of a group is stored, so it must never change. No group has the number of no group.
func TestTheNumberOfAGroupIsFixed(t *testing.T) {
	assert.Zero(t, HashGroup(""))
	assert.Equal(t, uint64(0x7c29938f9b3e2f98), HashGroup("customer-1"))
	n := NewTask{}
	n.AddHeaders(map[string]string{"kind": "welcome", GroupHeader: "customer-1"})
	assert.Equal(t, HashGroup("customer-1"), n.Group)
}

// The parts of all shards add up to the limit.
func TestTheSharesOfALimitAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(1, 64).Draw(t, "shards")
		l := Limit{
			LeasedMax: rapid.Uint32Range(uint32(shards), 1_000).Draw(t, "leased max"),
			RateMilli: rapid.Uint64Range(uint64(shards), rateMilliMost).Draw(t, "rate"),
			Burst:     rapid.Uint32Range(0, 1_000).Draw(t, "burst"),
		}
		var sum Limit
		for i := range shards {
			part := l.share(i, shards)
			require.Positive(t, part.burst())
			sum.LeasedMax += part.LeasedMax
			sum.RateMilli += part.RateMilli
		}
		require.Equal(t, Limit{LeasedMax: l.LeasedMax, RateMilli: l.RateMilli}, sum)
	})
}

// A bucket yields exactly its rate, whether it is visited each millisecond or when it has a token.
func TestABucketLosesNoFraction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limit{RateMilli: rapid.Uint64Range(1_000, 900_000).Draw(t, "rate"), Burst: rapid.Uint32Range(1, 3).Draw(t, "burst")}
		b := l.bound()
		k := bucket{level: b.full}
		const ms = 100_000
		n := 0
		for now := int64(0); now <= ms; now++ {
			for b.room(0, &k, now) > 0 {
				k.level -= tokenUnits
				n++
			}
			if rapid.IntRange(0, 99).Draw(t, "jump") == 0 {
				now = k.reaches(&b, tokenUnits) - 1
			}
		}
		want := float64(l.Burst) + float64(l.RateMilli)*ms/1e6
		require.InDelta(t, want, n, 2)
	})
}

// The state of a group is dropped when the group is idle.
func TestIdleGroupsHaveNoState(t *testing.T) {
	const groups = 100_000
	for kind, limit := range map[string]Limit{"leased": {LeasedMax: 2}, "rate": {RateMilli: 1_000, Burst: 1}} {
		t.Run(kind, func(t *testing.T) {
			s, err := New(Config{}, nullJournal{}, Recovered{})
			require.NoError(t, err)
			require.NoError(t, s.Configure("t", "q", Policy{GroupLimit: limit}, 1))
			_, err = s.Subscribe(Claim{Tenant: "t", Queues: []string{"q"}, Credit: 1 << 30, BytesMax: 1 << 50}, nil)
			require.NoError(t, err)
			before := heapBytes()
			var grants []Grant
			for now := int64(1); now <= groups/100; now++ {
				tasks, out := make([]NewTask, 100), make([]Enqueued, 100)
				for i := range tasks {
					tasks[i] = NewTask{Queue: "q", Group: HashGroup(fmt.Sprint(now, i))}
				}
				s.Enqueue(now, "t", tasks, out)
				grants = s.Dispatch(now, grants[:0])
				var ends []Settlement
				for _, g := range grants {
					for _, d := range g.Deliveries {
						ends = append(ends, Settlement{Ref: d.Ref, Token: d.Token, Action: Complete})
					}
				}
				s.Settle(now, "t", ends, make([]error, len(ends)))
				s.Flush()
			}
			for now := int64(groups); s.limiter.due.nextMs() <= 2*groups; now = s.limiter.due.nextMs() {
				s.Tick(now)
			}
			q, _ := s.Named("t", "q")
			assert.Zero(t, q.limits.groups.n)
			assert.Zero(t, q.record.Counts.Leased)
			bytes := float64(heapBytes()-before) / groups
			t.Logf("%.1f bytes are left of each of %d idle groups", bytes, groups)
			assert.Less(t, bytes, 100.0)
			runtime.KeepAlive(s)
		})
	}
}

// Parked tasks are in memory without their payloads.
func TestParkedTasksAreSmall(t *testing.T) {
	s, err := New(Config{}, nullJournal{}, Recovered{})
	require.NoError(t, err)
	require.NoError(t, s.Configure("t", "q", Policy{GroupLimit: Limit{LeasedMax: 1}}, 1))
	_, err = s.Subscribe(Claim{Tenant: "t", Queues: []string{"q"}, Credit: 1 << 20, BytesMax: 1 << 50}, nil)
	require.NoError(t, err)
	const batch, batches = 1_000, 60
	before := heapBytes()
	for range batches {
		tasks, out := make([]NewTask, batch), make([]Enqueued, batch)
		for i := range tasks {
			tasks[i] = NewTask{Queue: "q", Group: uint64(1+i%100) << 32, Payload: make([]byte, 100)}
		}
		s.Enqueue(1, "t", tasks, out)
		for s.Dispatch(1, nil); s.Exhausted() || s.Unfinished(); {
			s.Dispatch(1, nil)
		}
	}
	q, _ := s.Named("t", "q")
	parked := q.Parked()
	assert.Equal(t, batch*batches-100, parked)
	bytes := float64(heapBytes()-before) / float64(parked)
	t.Logf("a parked task has %.1f bytes", bytes)
	assert.Less(t, bytes, 140.0)
	runtime.KeepAlive(s)
}

func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A task without a group and limits costs no allocation, and parked tasks do not delay it.
func TestManyParkedTasksDoNotDelayOthers(t *testing.T) {
	s, err := New(Config{parkedMax: 1 << 20}, nullJournal{}, Recovered{})
	require.NoError(t, err)
	require.NoError(t, s.Configure("t", "q", Policy{GroupLimit: Limit{LeasedMax: 1}}, 1))
	w, err := s.Subscribe(Claim{Tenant: "t", Queues: []string{"q"}, Credit: 1}, nil)
	require.NoError(t, err)
	tasks := make([]NewTask, 2_000)
	for i := range tasks {
		tasks[i] = NewTask{Queue: "q", Group: 1}
	}
	tasks = append(tasks, NewTask{Queue: "q"})
	s.Enqueue(1, "t", tasks, make([]Enqueued, len(tasks)))
	turns := 0
	var got []Ref
	for s.Credit(w, 1); len(got) < 2; turns++ {
		for _, g := range s.Dispatch(1, nil) {
			for _, d := range g.Deliveries {
				got = append(got, d.Ref)
			}
		}
		require.LessOrEqual(t, s.Worked(), 2*TurnMax+len(tasks), "a turn is limited")
	}
	assert.EqualValues(t, len(tasks)-1, got[1].Seq)
	assert.LessOrEqual(t, turns, 1+len(tasks)/TurnMax)
}

func TestTheTableOfGroupsBehavesAsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table groupTable
		want := map[uint64]uint32{}
		hashes := rapid.SampledFrom([]func(i uint64) uint64{
			func(i uint64) uint64 { return i },
			func(i uint64) uint64 { return (i%3+i*groupSlotsMin)<<32 + i }, // many collisions
			mix,
		}).Draw(t, "hashes")
		for range rapid.IntRange(0, 400).Draw(t, "steps") {
			hash := hashes(rapid.Uint64Range(1, 200).Draw(t, "group"))
			s := table.get(hash)
			require.Equal(t, want[hash] > 0, s != nil)
			if s != nil && rapid.Bool().Draw(t, "removed") {
				delete(want, hash)
				table.remove(hash)
				continue
			}
			table.claim(hash).leased++
			want[hash]++
		}
		require.Equal(t, len(want), table.n)
		require.LessOrEqual(t, 4*table.n, len(table.slots))
		require.LessOrEqual(t, len(table.slots), max(groupSlotsMin, 32*table.n))
		for hash, leased := range want {
			require.Equal(t, groupSlot{hash: hash, leased: leased}, *table.get(hash))
		}
		for s := range table.all() {
			require.Equal(t, s.leased, want[s.hash])
			delete(want, s.hash)
		}
		require.Empty(t, want)
	})
}

// A recovered window reads leased tasks too. A task whose lease ends between the reading and the
// answer is not leased again.
func TestARecoveredWindowSkipsTasksWhoseLeasesEnd(t *testing.T) {
	f := newFixture(t, Config{})
	require.NoError(t, f.Configure("t", "q", Policy{GroupLimit: Limit{LeasedMax: 1}}, 1))
	of := func(group string) func(*NewTask) { return func(n *NewTask) { n.Group = HashGroup(group) } }
	a := f.fill("q", 2, of("a"))
	f.fill("q", 1, of("b"))
	w := f.wait(3, "q")
	held := f.dispatch()[w]
	require.Len(t, held, 2, "the second task of group a is parked")
	f.recover(f.cfg)
	w = f.wait(3, "q")
	require.Empty(t, f.Dispatch(f.now, nil))
	var answers []func()
	for _, r := range f.Refills() {
		answers = append(answers, f.journal.read(f.State, r))
	}
	out := make([]error, 2)
	f.Settle(f.now, "t", []Settlement{
		{Ref: held[0].Ref, Token: held[0].Token, Action: Complete}, {Ref: held[1].Ref, Token: held[1].Token, Action: Complete},
	}, out)
	require.Equal(t, []error{nil, nil}, out)
	f.Flush()
	for _, answer := range answers {
		answer()
	}
	got := f.dispatch()[w]
	require.Len(t, got, 1)
	assert.Equal(t, a[1], got[0].Ref)
}

// A full bucket yields its burst, however long it was full before a parked task takes a token.
func TestAFullBucketGainsNothing(t *testing.T) {
	f := newFixture(t, Config{})
	require.NoError(t, f.Configure("t", "q", Policy{GroupLimit: Limit{RateMilli: 1_000, Burst: 1}}, 1))
	f.fill("q", 3, func(n *NewTask) { n.Group = 1 })
	w := f.wait(3, "q")
	require.Len(t, f.dispatch()[w], 1, "the second task is parked")
	f.now += 10_000
	f.Tick(f.now)
	f.now += 10_000
	assert.Len(t, f.dispatch()[w], 1)
}

// Extras are allocated in blocks. A task that waits must not keep those of its neighbours in memory.
func TestAWaitingTaskHasItsOwnExtras(t *testing.T) {
	assert.EqualValues(t, 40, unsafe.Sizeof(Extras{}))
	f := newFixture(t, Config{})
	require.NoError(t, f.Configure("t", "q", Policy{GroupLimit: Limit{LeasedMax: 1}}, 1))
	f.fill("q", 3, func(n *NewTask) { n.Group = 1 })
	q, _ := f.Named("t", "q")
	first, second := q.lanes[0].fresh.at(0).task.Extras, q.lanes[0].fresh.at(1).task.Extras
	w := f.wait(2, "q")
	got := f.dispatch()[w]
	require.Len(t, got, 1)
	assert.Same(t, first, got[0].Extras)
	parked := q.lanes[0].parked.first()
	assert.Equal(t, second, parked.due.Extras)
	assert.NotSame(t, second, parked.due.Extras)
	assert.Same(t, parked.due.Extras, parked.group.parked[1].due.Extras, "parked tasks share equal extras")
	f.Settle(f.now, "t", []Settlement{{Ref: got[0].Ref, Token: got[0].Token, Action: Fail, DelayMs: 1_000}}, make([]error, 1))
	returned, _ := q.lanes[0].returned.Min()
	assert.Equal(t, first, returned.due.Extras)
	assert.NotSame(t, first, returned.due.Extras)
}
