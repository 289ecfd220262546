package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testPool is a Pool whose credit the test controls.
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
	assert.Len(t, f.dispatch()[own], 1, "the starved waiter does not block the other one")
	pool.left = 9
	f.fill("q", 1)
	assert.Empty(t, f.dispatch())
	assert.Equal(t, asked, pool.asked, "a starved waiter does not ask again before it gets credit")
	f.Credit(starved, 1)
	assert.Len(t, f.dispatch()[starved], 3, "with credit it takes more")
	assert.Equal(t, 7, pool.left)
}

func TestUnusedCreditGoesBack(t *testing.T) {
	f := newFixture(t, Config{})
	pool := &testPool{}
	w := f.waitOn(pool, nil, "q")
	f.fill("q", 1)
	assert.Empty(t, f.dispatch())
	other := f.wait(1, "q")
	assert.Len(t, f.dispatch()[other], 1, "another waiter takes the task before the credit arrives")
	f.Credit(w, 4)
	assert.Empty(t, f.dispatch())
	assert.Equal(t, 4, pool.left)
	f.fill("q", 1)
	assert.Len(t, f.dispatch()[w], 1, "the waiter still waits")
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
	// Between two readings of the store, the pool has the unused credit.
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
	assert.Len(t, f.dispatch()[w], 5, "tasks of all its queues")
	assert.Zero(t, pool.left, "no credit is left for another state")
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

// The weight of a request is that of the queues with tasks. An ordered queue has its whole weight
// in one state.
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
	assert.Equal(t, 1, pool.weight, "one queue needs no weight")
}

// An ordered queue gets in one state the share that a spread queue gets in all states together.
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
