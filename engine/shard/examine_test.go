package shard

import (
	"maps"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// holding makes the log withhold its entries, or applies the withheld entries.
func (l *fakeLog) holding(hold bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = hold
	if hold {
		return
	}
	for _, p := range l.proposed {
		p.answer(l.apply(p.entry))
	}
	l.proposed = nil
}

func (l *fakeLog) entries() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.index
}

// waitsForNothing reports whether the shard has decided all its commands and waits for no commit.
func (f *fixture) waitsForNothing() bool {
	f.inbox.mu.Lock()
	defer f.inbox.mu.Unlock()
	return len(f.inbox.waiting) == 0 && f.deciding.age() == 0
}

// Calls about single tasks do not block the deciding goroutine of a replicated shard on a commit.
func TestNoCallAboutSingleTasksWaitsForACommitWhileItDecides(t *testing.T) {
	const n = 1_000
	f, log := replicated(t)
	defer func() {
		f.Lose()
		require.NoError(t, f.store.Close())
	}()
	refs := f.enqueue(newTasks("q", n+1)...)
	log.holding(true)
	first := f.enqueueLater(newTasks("other", 1)...)
	cancelled := ask(t, func(r func([]error, error)) error { return f.Change(Cancel, tenant, refs[:n], r) })
	found := ask(t, func(r func(Found, error)) error { return f.Lookup(tenant, refs[n], r) })
	waiting := f.await(refs[n])
	given := f.await(refs[n])
	given.cancel()
	second := f.enqueueLater(newTasks("other", 1)...)
	require.Eventually(t, func() bool { return log.held() > 0 && f.waitsForNothing() }, waitMost, waitStep)
	assert.Empty(t, cancelled)

	before := log.entries()
	log.holding(false)
	assert.NoError(t, receive(t, first).err)
	assert.NoError(t, receive(t, second).err)
	got := receive(t, cancelled)
	require.NoError(t, got.err)
	assert.Equal(t, make([]error, n), got.value)
	assert.Equal(t, Ready, receive(t, found).value.State)
	assert.Equal(t, Ready, receive(t, given.answers).value.State)
	assert.Empty(t, waiting.answers)
	assert.LessOrEqual(t, log.entries()-before, uint64(2+n/sliceMax+1), "one commit for each slice, not for each task")
	require.NoError(t, f.changed(Cancel, refs[n]))
	assert.ErrorIs(t, receive(t, waiting.answers).err, ErrNotFound)
}

// A task that a call names twice is changed once. A task that changes after its reading is read
// again before its change.
func TestChangesSeeWhatHappenedMeanwhile(t *testing.T) {
	f, log := replicated(t)
	defer func() {
		f.Lose()
		require.NoError(t, f.store.Close())
	}()
	refs := f.enqueue(newTasks("q", 4)...)
	leased := f.claim(1, "q")[0]
	log.holding(true)
	f.enqueueLater(newTasks("other", 1)...) // the following turns wait for this one
	require.Eventually(t, func() bool { return log.held() > 0 && f.waitsForNothing() }, waitMost, waitStep)
	cancelled := ask(t, func(r func([]error, error)) error {
		return f.Change(Cancel, tenant, []queue.Ref{refs[0], refs[1], refs[1], refs[2]}, r)
	})
	completed := f.settleLater(leased, queue.Settlement{Action: queue.Complete})
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 1})
	log.holding(false)
	assert.Equal(t, []error{nil}, receive(t, completed).value)
	taken := receive(t, w.tasks)
	got := receive(t, cancelled)
	require.NoError(t, got.err)
	assert.Equal(t, []error{ErrNotFound, nil, ErrNotFound, nil}, got.value)
	assert.Equal(t, []error{queue.ErrCancelled}, f.settle(tenant, queue.Settlement{Ref: taken.Ref, Token: taken.Token, Action: queue.Complete}))
	f.audit()
}

// After a failed decision, later waits are answered, and so are waits that are cancelled then.
func TestAwaitBehindAFailedDecisionIsAnswered(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	ref := f.enqueue(newTasks("q", 1)...)[0]
	before := f.await(ref)
	f.stats()
	entered, gate := make(chan struct{}), make(chan struct{})
	require.NoError(t, put(f.Shard, &query[struct{}]{
		decided: func(d *decider, _ int64) (none struct{}, err error) {
			close(entered)
			<-gate
			d.failure = errDisk
			return none, nil
		},
		reply: func(struct{}, error) {},
	}))
	receive(t, entered)
	behind := f.await(ref)
	found := ask(t, func(r func(Found, error)) error { return f.Lookup(tenant, ref, r) })
	changed := ask(t, func(r func([]error, error)) error { return f.Change(Cancel, tenant, []queue.Ref{ref}, r) })
	figures := ask(t, f.Stats)
	before.cancel()
	close(gate)
	assert.ErrorIs(t, receive(t, behind.answers).err, errDisk)
	assert.ErrorIs(t, receive(t, found).err, errDisk)
	assert.ErrorIs(t, receive(t, changed).err, errDisk)
	assert.ErrorIs(t, receive(t, figures).err, errDisk)
	assert.Error(t, receive(t, before.answers).err)
	f.stop()
	assert.Empty(t, before.answers)
	assert.Empty(t, behind.answers)
}

// Pages of any size list each leased task once, in the order of the tokens, even if leases begin
// and end between the pages.
func TestLeasedTasksComeInPages(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	f.enqueue(newTasks("q", 60)...)
	f.enqueue(newTasks("other", 5)...)
	held := map[queue.Ref]queue.Delivery{}
	claim := func(n int) {
		for _, d := range f.claim(n, "q") {
			held[d.Ref] = d
		}
	}
	f.claim(3, "other")
	for _, n := range []int{1, 7, 2, 20, 6} {
		claim(n)
	}
	for limit := 1; limit < 12; limit++ {
		got, throughout := map[queue.Ref]bool{}, maps.Clone(held)
		last := uint64(0)
		for l := (List{State: Leased, Limit: limit}); ; {
			page, err := f.list(l)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.Tasks), limit)
			for _, task := range page.Tasks {
				require.False(t, got[task.Ref])
				got[task.Ref] = true
				require.Greater(t, held[task.Ref].Token, last)
				last = held[task.Ref].Token
				require.Equal(t, held[task.Ref].ExpiresAtMs, task.Lease.ExpiresAtMs)
			}
			if len(page.Next) == 0 {
				break
			}
			l.After = page.Next
			if len(got)%3 == 0 && len(held) > 20 {
				for ref, d := range held {
					f.end(d, queue.Complete)
					delete(held, ref)
					delete(throughout, ref)
					break
				}
				claim(1)
			}
		}
		for ref := range throughout {
			require.True(t, got[ref], "%v is missing", ref)
		}
	}
}
