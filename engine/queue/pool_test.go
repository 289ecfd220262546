package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testPool is credit that the test itself shares with a waiter.
type testPool struct {
	left   int
	asked  int
	weight int
}

func (p *testPool) Take(n, weight int) int {
	p.asked++
	p.weight = weight
	got := min(n, p.left)
	p.left -= got
	return got
}

func (p *testPool) Return(n int) { p.left += n }

func (f *fixture) waitOn(pool *testPool, change func(*Claim), queues ...string) *Waiter {
	f.t.Helper()
	c := Claim{Tenant: "t", Queues: queues, Pool: pool}
	if change != nil {
		change(&c)
	}
	w, err := f.Subscribe(c, nil)
	require.NoError(f.t, err)
	return w
}

func TestCreditIsTakenFromThePoolForReadyTasksOnly(t *testing.T) {
	f := newFixture(t, Config{})
	pool := &testPool{left: 10}
	w := f.waitOn(pool, nil, "q", "r")
	f.fill("q", 1, func(n *NewTask) { n.DelayMs = 100 })
	assert.Empty(t, f.dispatch())
	assert.Zero(t, pool.asked)
	f.fill("q", 3)
	f.fill("r", 4)
	assert.Len(t, f.dispatch()[w], 7)
	assert.Equal(t, 3, pool.left)
	f.now += 100
	f.Tick(f.now)
	assert.Len(t, f.dispatch()[w], 1)
	assert.Equal(t, 2, pool.left)
}

func TestAWaiterWithAnEmptyPoolIsPassedOver(t *testing.T) {
	f := newFixture(t, Config{})
	pool := &testPool{left: 2}
	starved := f.waitOn(pool, nil, "q")
	f.fill("q", 5)
	assert.Len(t, f.dispatch()[starved], 2)
	asked := pool.asked
	own := f.wait(1, "q")
	assert.Len(t, f.dispatch()[own], 1, "the other one is in nobody's way")
	pool.left = 9
	f.fill("q", 1)
	assert.Empty(t, f.dispatch())
	assert.Equal(t, asked, pool.asked, "it waits until it is given credit")
	f.Credit(starved, 1)
	assert.Len(t, f.dispatch()[starved], 3, "and then takes more")
	assert.Equal(t, 7, pool.left)
}

func TestUnusedCreditGoesBack(t *testing.T) {
	f := newFixture(t, Config{})
	pool := &testPool{}
	w := f.waitOn(pool, nil, "q")
	f.fill("q", 1)
	assert.Empty(t, f.dispatch())
	other := f.wait(1, "q")
	assert.Len(t, f.dispatch()[other], 1, "before it is given credit, its task is gone")
	f.Credit(w, 4)
	assert.Empty(t, f.dispatch())
	assert.Equal(t, 4, pool.left)
	f.fill("q", 1)
	assert.Len(t, f.dispatch()[w], 1, "and it still waits")
	assert.Equal(t, 3, pool.left)
	f.Unsubscribe(w)
	f.fill("q", 1)
	assert.Empty(t, f.dispatch())
}

func TestCreditThatWaitsForTheStoreGoesBack(t *testing.T) {
	f := newFixture(t, Config{WindowTasks: 2})
	pool := &testPool{left: 9}
	f.fill("q", 7)
	w := f.waitOn(pool, nil, "q")
	// Between two reads of the store the pool has what is not used.
	got := 0
	for asked := 1; asked > 0 || f.Unfinished(); {
		for _, g := range f.Dispatch(f.now, nil) {
			require.Same(t, w, g.Waiter)
			got += len(g.Deliveries)
		}
		assert.Equal(t, 9-got, pool.left)
		refills := f.Refills()
		asked = len(refills)
		for _, r := range refills {
			f.journal.answer(f.State, r)
		}
	}
	assert.Equal(t, 7, got)
}

func TestTheFirstGrantTakesAWholeClaim(t *testing.T) {
	f := newFixture(t, Config{})
	pool := &testPool{left: 100}
	w := f.waitOn(pool, func(c *Claim) { c.Once = true }, "q", "r")
	assert.Empty(t, f.dispatch())
	f.fill("q", 2)
	f.fill("r", 3)
	assert.Len(t, f.dispatch()[w], 5, "of all its queues")
	assert.Zero(t, pool.left, "another state has nothing to grant from")
	f.fill("q", 1)
	assert.Empty(t, f.dispatch())
}

func TestAWaiterHasItsOwnBoundOfBytes(t *testing.T) {
	f := newFixture(t, Config{})
	w := f.waitOn(&testPool{left: 100}, func(c *Claim) { c.BytesMax = 10 }, "q")
	f.fill("q", 9, func(n *NewTask) { n.Payload = make([]byte, 4) })
	assert.Len(t, f.dispatch()[w], 3)
	f.Sent(w, 2)
	assert.Empty(t, f.dispatch())
	f.Sent(w, 1)
	assert.Len(t, f.dispatch()[w], 1)
}

// What a state asks for goes by its queues that have tasks. An ordered queue has all of its weight in one state.
func TestAStateWeighsWhatItHas(t *testing.T) {
	f := newFixture(t, Config{})
	require.NoError(t, f.Configure("t", "ordered", Policy{Placement: Ordered}, 1))
	pool := &testPool{}
	weights := func(c *Claim) { c.Weights, c.States = []uint32{3, 5, 7}, 4 }
	for i, c := range []struct {
		fill string
		want int
	}{{"spread", 3}, {"ordered", 3 + 4*5}, {"other", 3 + 4*5 + 7}} {
		f.waitOn(pool, weights, "spread", "ordered", "other")
		f.fill(c.fill, 1)
		assert.Empty(t, f.dispatch())
		assert.Equal(t, c.want, pool.weight, "%d", i)
	}
	f.waitOn(pool, nil, "spread")
	f.dispatch()
	assert.Equal(t, 1, pool.weight, "of one queue there is nothing to weigh")
}

// In one state, an ordered queue is due as much more as the spread ones are due in the other states.
func TestASpreadQueueHasItsShareInEachState(t *testing.T) {
	f := newFixture(t, Config{})
	require.NoError(t, f.Configure("t", "ordered", Policy{Placement: Ordered}, 1))
	f.fill("spread", 1_000)
	f.fill("ordered", 1_000)
	pool := &testPool{left: 500}
	w := f.waitOn(pool, func(c *Claim) { c.States = 4 }, "spread", "ordered")
	got := byQueue(f.dispatch()[w])
	assert.InDelta(t, 400, got["ordered"], 60)
	assert.InDelta(t, 100, got["spread"], 60)
}
