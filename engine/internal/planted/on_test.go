//go:build planted

package planted

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBeginTakesTheFaultAndItsAmount(t *testing.T) {
	for text, want := range map[string]amount{
		"cpu":       {time: 5 * time.Microsecond},
		"cpu:500ns": {time: 500 * time.Nanosecond},
		"scan:10":   {count: 10},

		"fsync":       {count: 1},
		"fsync:1/400": {count: 1, per: 400},
		"wait:300ns":  {time: 300 * time.Nanosecond},
		"work:70":     {count: 70},
		"client:700":  {count: 700},
	} {
		t.Setenv(variable, text)
		require.NoError(t, Begin(), text)
		assert.Equal(t, want, fault.amount)
	}
	for text, problem := range map[string]string{
		"cup":       `names the fault "cup": use one of again, alloc, await, background, channel, client, cpu, decay, doubled, dropped, early, flipped, forgotten, fsync, goroutines, hasty, leak, list, lock, lost, read, relabelled, rest, reversed, rpc, scan, skipped, stats, stranger, timer, twice, unary, uncancelled, unsynced, wait, work, writes`,
		":1":        `names the fault ""`,
		"cpu:5":     `the amount "5"`,
		"cpu:-5us":  "use more than 0",
		"cpu:1h":    "at most 1s",
		"scan:few":  "it is not a number",
		"scan:0":    "use 1 to",
		"fsync:1e9": "it is not a number",
		"fsync:1/0": "use 1 to",
		"work:1/2":  "only fsync may be for several tasks",
	} {
		t.Setenv(variable, text)
		assert.ErrorContains(t, Begin(), problem, text)
	}
}

// The fault wait sleeps for the time of its amount, even if its timer is late, and holds the mutex
// that publishing needs.
func TestWaitSleepsWhatIsOwed(t *testing.T) {
	owed = 0
	t.Cleanup(func() { owed = 0 })
	var c commits
	for range 9 {
		c.wait(sleepMin / 10)
	}
	assert.Equal(t, 9*(sleepMin/10), owed, "too little for a sleep")
	c.mu.Lock()
	done := make(chan struct{})
	go func() { c.wait(sleepMin); close(done) }()
	select {
	case <-done:
		t.Error("it slept without the mutex")
	default:
	}
	c.mu.Unlock()
	<-done
	assert.LessOrEqual(t, owed, 9*(sleepMin/10), "the excess of a long sleep is subtracted")
}

// The fault decay makes each task compute more than the one before, up to a bound.
func TestDecayGrows(t *testing.T) {
	var d decay
	began := time.Now()
	assert.Zero(t, d.steps(60_000, began))
	assert.Equal(t, 1_000, d.steps(60_000, began.Add(time.Second)))
	assert.Equal(t, 120_000, d.steps(60_000, began.Add(2*time.Minute)))
	assert.Equal(t, countMax, d.steps(countMax, began.Add(time.Hour)))
}

// The background goroutine eventually computes all steps of the tasks.
func TestBackgroundComputesWhatIsOwed(t *testing.T) {
	b := background{wake: make(chan struct{}, 1)}
	b.task(1)
	assert.EqualValues(t, 1, b.owed.Load(), "too few for a piece")
	b.task(pieceSteps)
	assert.Eventually(t, func() bool { return b.owed.Load() == 0 }, time.Minute, time.Millisecond)
	close(b.wake)
}
