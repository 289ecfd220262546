package queue

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// brokenBy returns the BrokenError that f panics with, or nil.
func brokenBy(f func()) (err *BrokenError) {
	defer func() { err = Broken(recover()) }()
	f()
	return nil
}

// Each check of the state machine finds the invariant that the test breaks, before the journal gets
// the queue's record.
func TestABrokenInvariantIsFound(t *testing.T) {
	settle := func(f *fixture, d Delivery) {
		f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Complete}}, make([]error, 1))
	}
	refill := func(f *fixture, d Delivery) { // puts the task into the window again
		l := d.Queue.lanes[0]
		f.appendFresh(l, d.Seq, Task{MaxAttempts: 1, LeaseMs: 1}, 0)
		f.Credit(f.wait(0, "a"), 1)
	}
	for _, c := range []struct {
		text   string
		damage func(f *fixture, leased Delivery)
	}{
		{"do not add up", func(f *fixture, d Delivery) {
			d.Queue.record.Counts.Leased = 0
			settle(f, d)
			f.Flush()
		}},
		{"do not add up", func(f *fixture, d Delivery) {
			d.Queue.record.Counts.Fresh++
			settle(f, d)
			f.Flush()
		}},
		{"is issued twice", func(f *fixture, _ Delivery) {
			f.nextBatch--
			f.wait(1, "a")
			f.Dispatch(f.now, nil)
		}},
		{"is leased twice", func(f *fixture, d Delivery) {
			d.Queue.lanes[0].cursor = d.Seq
			for d.Queue.lanes[0].fresh.len() > 0 {
				d.Queue.lanes[0].fresh.pop()
			}
			refill(f, d)
			f.Dispatch(f.now, nil)
		}},
		{"is claimed again", func(f *fixture, d Delivery) {
			settle(f, d)
			for d.Queue.lanes[0].fresh.len() > 0 {
				d.Queue.lanes[0].fresh.pop()
			}
			refill(f, d)
			f.Dispatch(f.now, nil)
		}},
		{"is not leased", func(f *fixture, d Delivery) {
			f.pages.noteEnded(d.Queue, d.Seq)
			settle(f, d)
		}},
	} {
		f := newFixture(t, Config{})
		f.fill("a", 3)
		w := f.wait(1, "a")
		leased := f.dispatch()[w]
		require.Len(t, leased, 1)
		f.Flush()
		before := f.journal.queues[leased[0].Ref.Queue].Counts
		err := brokenBy(func() { c.damage(f, leased[0]) })
		require.Error(t, err, c.text)
		assert.ErrorContains(t, err, c.text)
		assert.Equal(t, before, f.journal.queues[leased[0].Ref.Queue].Counts, c.text)
	}
	assert.PanicsWithError(t, "another panic", func() { _ = brokenBy(func() { panic(errors.New("another panic")) }) })
}

// The counts of a queue are not checked if its recovered counts, written by an older server, do not
// add up. Otherwise the shard would stop at each change.
func TestRecoveredCountsThatDoNotAddUpStopNothing(t *testing.T) {
	j := newMapJournal(t.Fatalf)
	s, err := New(Config{}, j, Recovered{Queues: []Record{{ID: 1, Tenant: "t", Name: "a", NextSeq: 7, Counts: Counts{Enqueued: 7, Completed: 5}}}})
	require.NoError(t, err)
	s.Enqueue(1, "t", []NewTask{{Queue: "a"}}, make([]Enqueued, 1))
	require.Nil(t, brokenBy(func() { s.Flush() }))
	assert.EqualValues(t, 8, j.queues[1].Counts.Enqueued)
}
