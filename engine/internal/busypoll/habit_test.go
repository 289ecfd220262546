package busypoll

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials/insecure"
)

// handClock is a clock that a test controls.
type handClock struct{ at time.Duration }

func (c *handClock) now() time.Duration { return c.at }

func newHabit() (*habit, *handClock) {
	c := &handClock{at: time.Minute}
	return &habit{max: testMax, shared: &pollers{now: c.now}}, c
}

// wait makes a connection wait n times in the usual way.
func (c *handClock) wait(h *habit, n int, each time.Duration) {
	for range n {
		from := c.at
		c.at += each
		h.waited(from, c.at)
	}
}

// polls reports whether the connection polls now, and ends the polling.
func polls(h *habit, found bool) bool {
	if !h.begin() {
		return false
	}
	h.end(found)
	return true
}

const testMax = 200 * time.Microsecond

func TestAConnectionPollsOnceItsWaitsAreShort(t *testing.T) {
	h, c := newHabit()
	c.wait(h, 1_000, time.Second)
	require.False(t, polls(h, true), "an idle connection must cost nothing")
	c.wait(h, 10, testMax)
	require.False(t, polls(h, true), "a few short waits are not enough")
	c.wait(h, 100, testMax)
	require.True(t, polls(h, true))
	c.wait(h, 1, time.Second)
	require.True(t, polls(h, true), "one long wait does not end polling")
}

func TestPollingThatDoesNotPayEndsAndIsTriedMoreSeldom(t *testing.T) {
	h, c := newHabit()
	c.wait(h, 1_000, testMax)
	var pauses []time.Duration
	for range 12 {
		missed := 0
		for h.active {
			require.True(t, polls(h, false))
			missed++
			c.at += testMax
		}
		require.Less(t, missed, 20)
		from := c.at
		for !h.active {
			c.wait(h, 1, testMax)
		}
		pauses = append(pauses, c.at-from)
	}
	assert.InDelta(t, holdMin, pauses[0], float64(holdMin))
	for i := 1; i < len(pauses); i++ {
		assert.GreaterOrEqual(t, pauses[i], min(pauses[i-1], holdMax))
	}
	assert.InDelta(t, holdMax, pauses[len(pauses)-1], float64(holdMin))

	for range 2 * steady / testMax { // polling succeeds again
		if !polls(h, true) {
			c.wait(h, 1, 0)
		}
		c.at += testMax
	}
	for h.active {
		if !polls(h, false) {
			c.wait(h, 1, 0)
		}
	}
	assert.Equal(t, holdMin, h.pause, "the next pause is the shortest again")
}

func TestAPollingConnectionWaitsAsUsualFromTimeToTime(t *testing.T) {
	h, c := newHabit()
	c.wait(h, 1_000, testMax)
	c.at += parkEvery
	require.True(t, polls(h, true))
	c.at++
	require.True(t, h.active)
	require.False(t, polls(h, true), "the scheduler must poll the network for other connections")
	c.wait(h, 1, 0)
	require.True(t, polls(h, true))
}

func TestOneOfSeveralBusyConnectionsDoesNotPoll(t *testing.T) {
	a, c := newHabit()
	b := &habit{max: testMax, shared: a.shared}
	c.wait(a, 1_000, testMax)
	require.True(t, polls(a, true))
	c.wait(b, 1, 0)
	require.False(t, polls(a, true))
	c.at += aloneAfter
	c.wait(a, 1, 0)
	require.False(t, polls(a, true), "the other connection just received data")
	c.at += aloneAfter
	c.wait(a, 1, 0)
	require.True(t, polls(a, true))
}

func TestAtMostOneConnectionPolls(t *testing.T) {
	a, c := newHabit()
	c.wait(a, 1_000, testMax)
	b := *a
	require.True(t, a.begin())
	require.False(t, b.begin())
	a.end(true)
	require.True(t, b.begin())
	b.end(true)
}

// TestAPollIsBounded checks that a poll is bounded by the idle time.
func TestAPollIsBounded(t *testing.T) {
	h, c := newHabit()
	tries := 0
	step := time.Microsecond
	h.shared.now = func() time.Duration {
		c.at += step
		return c.at
	}
	require.False(t, h.poll(func() bool { tries++; return false }))
	assert.Equal(t, int(testMax/step), tries)

	tries, step = 0, 2*idleMax // other goroutines always work
	require.False(t, h.poll(func() bool { tries++; return false }))
	assert.Positive(t, tries, "the socket is still polled")
	assert.LessOrEqual(t, tries, int(testMax/idleMax)+1)

	require.True(t, h.poll(func() bool { return true }))
}

func TestBusyPollIsForOneProcessorOfSeveral(t *testing.T) {
	procs := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(procs)
	c := insecure.NewCredentials()
	if runtime.NumCPU() == 1 {
		assert.Equal(t, c, Credentials(c), "the other side needs the only processor")
		return
	}
	assert.Equal(t, pollingCredentials{c}, Credentials(c))
	assert.Equal(t, pollingCredentials{c}, Credentials(c).Clone())
	runtime.GOMAXPROCS(2)
	assert.Equal(t, c, Credentials(c))
}
