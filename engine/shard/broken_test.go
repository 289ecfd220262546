package shard

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/queue"
)

// A broken invariant of the state machine stops the shard with an error that names the invariant.
// The store keeps everything that was acknowledged before, and nothing of the turn that broke the
// invariant.
func TestABrokenInvariantStopsTheShard(t *testing.T) {
	disk := vfs.NewMem()
	failed := make(chan error, 2)
	f := start(t, disk, Options{Failed: func(err error) { failed <- err }})
	ref := f.enqueue(queue.NewTask{Queue: "q"})[0]

	broken := ask(t, func(r func(struct{}, error)) error {
		return put(f.Shard, &query[struct{}]{reply: r, decided: func(d *decider, _ int64) (none struct{}, err error) {
			d.state.Cancel(&queue.Stored{Ref: ref})
			// A task that was removed: the queue's task count would become negative.
			d.state.Cancel(&queue.Stored{Ref: ref})
			return none, nil
		}})
	})
	var cause *queue.BrokenError
	require.ErrorAs(t, receive(t, broken).err, &cause)
	require.ErrorContains(t, cause, "do not add up")
	require.ErrorAs(t, receive(t, failed), &cause)
	require.ErrorIs(t, f.Enqueue(tenant, newTasks("q", 1), func([]queue.Enqueued, error) { t.Error("it was answered") }), ErrClosed)
	f.stop()
	assert.Empty(t, failed)

	f = start(t, disk, Options{})
	defer f.stop()
	found, err := f.lookup(tenant, ref)
	require.NoError(t, err)
	assert.Equal(t, Ready, found.State)
	f.end(f.claim(1, "q")[0], queue.Complete)
}

// When an invariant is broken, commands that wait for a later turn are answered once each.
func TestABrokenInvariantAnswersWhatWaits(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	ref := f.enqueue(queue.NewTask{Queue: "q"})[0]
	var cancel func()
	awaited := ask(t, func(r func(Awaited, error)) (err error) {
		cancel, err = f.Await(tenant, ref, r)
		return err
	})
	f.stats()
	f.inbox.mu.Lock() // so that one turn decides all these commands
	var answers []<-chan reply[Found]
	answer := func() func(Found, error) {
		c := make(chan reply[Found], 2)
		answers = append(answers, c)
		return func(v Found, err error) { c <- reply[Found]{v, err} }
	}
	look := answer()
	f.inbox.waiting = append(f.inbox.waiting,
		&begin{examine: &examine{tenant: tenant, refs: []queue.Ref{ref}, resolve: func(*decider, int, *Found, error) {}, reply: func(_ *Shard, err error) { look(Found{}, err) }}},
		&query[Found]{reply: answer(), decided: func(d *decider, _ int64) (Found, error) { panic(&queue.BrokenError{Invariant: "a test"}) }},
		&query[Found]{reply: answer(), decided: func(d *decider, _ int64) (Found, error) { return Found{}, nil }},
	)
	f.inbox.mu.Unlock()
	signal.Send(f.inbox.wake)
	for _, c := range answers {
		require.ErrorContains(t, receive(t, c).err, "a test")
	}
	f.stop()
	assert.Error(t, receive(t, awaited).err)
	cancel()
	for _, c := range answers {
		assert.Empty(t, c)
	}
}

// A Refill of an unknown stream is an error that stops the shard.
func TestAnUnknownRefillIsAnError(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	require.ErrorContains(t, readRefills(f.store, []queue.Refill{{Stream: 99}}).err, "stream 99")
}
