package shard

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/internal/quotafstest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// full is a shard on a disk with free space that the test sets.
type full struct {
	*fixture
	disk  *quotafstest.FS
	space *disk.Space
}

func startFull(t *testing.T) *full {
	t.Helper()
	f := &full{disk: quotafstest.New(vfs.NewMem(), 1000*mib)}
	f.space = disk.WatchSpace(disk.SpaceOptions{
		FS: f.disk, Dir: ".", Low: disk.Mark{Set: true, Bytes: 200 * mib}, Critical: disk.Mark{Set: true, Bytes: 100 * mib},
	})
	t.Cleanup(f.space.Close)
	f.fixture = start(t, f.disk, Options{Space: f.space})
	t.Cleanup(f.stop)
	return f
}

// free sets the free space and waits until Space reports the wanted state.
func (f *full) free(mebibytes uint64, want disk.SpaceState) {
	f.t.Helper()
	f.disk.LeaveFree(mebibytes * mib)
	require.Eventually(f.t, func() bool { return f.space.State() == want }, waitMost, waitStep)
}

func requireFull(t *testing.T, err error) {
	t.Helper()
	var refused *disk.FullError
	require.ErrorAs(t, err, &refused)
}

func TestLowSpaceRefusesGrowthOnly(t *testing.T) {
	f := startFull(t)
	refs := f.enqueue(newTasks("q", 6)...)
	dead := f.enqueue(queue.NewTask{Queue: "dead", MaxAttempts: 1})[0]
	f.end(f.claim(1, "dead")[0], queue.Fail)
	f.free(150, disk.SpaceLow)

	requireFull(t, f.Enqueue(tenant, newTasks("q", 1), func([]queue.Enqueued, error) { t.Error("it was answered") }))
	leased := f.claim(4, "q")
	require.Len(t, leased, 4)
	f.end(leased[0], queue.Complete)
	f.end(leased[1], queue.Fail)
	f.end(leased[2], queue.Release)
	require.Equal(t, []error{nil}, f.settle(tenant, queue.Settlement{Ref: leased[3].Ref, Token: leased[3].Token, Action: queue.Extend, LeaseMs: 5_000}))
	require.NoError(t, f.changed(Cancel, refs[5]))
	require.NoError(t, f.changed(Redrive, dead))
	purged := receive(t, ask(t, func(r func(Purged, error)) error { return f.Purge(tenant, "q", 100, r) }))
	require.NoError(t, purged.err)
	require.NotZero(t, purged.value.Removed)
	low, critical := f.space.Refusals()
	assert.EqualValues(t, 1, low)
	assert.Zero(t, critical)

	f.free(500, disk.SpaceOK)
	f.enqueue(newTasks("q", 1)...)
	f.audit()

	var late <-chan reply[[]queue.Enqueued]
	f.together(func() {
		late = f.enqueueLater(newTasks("q", 2)...)
		f.free(150, disk.SpaceLow) // after the tasks were admitted
	})
	got := receive(t, late)
	require.NoError(t, got.err)
	for _, e := range got.value {
		requireFull(t, e.Err)
	}
}

func TestLowSpaceBoundsResultsAndErrors(t *testing.T) {
	f := startFull(t)
	kept := func() queue.NewTask { return queue.NewTask{Queue: "kept", RetentionMs: 60_000} }
	f.enqueue(kept(), kept(), queue.NewTask{Queue: "plain"}, queue.NewTask{Queue: "fails"})
	keeps, plain, fails := f.claim(2, "kept"), f.claim(1, "plain")[0], f.claim(1, "fails")[0]
	f.free(150, disk.SpaceLow)
	complete := func(d queue.Delivery, n int) queue.Settlement {
		return queue.Settlement{Ref: d.Ref, Token: d.Token, Action: queue.Complete, Result: make([]byte, n)}
	}
	got := f.settle(tenant, complete(keeps[0], resultLowMax+1), complete(keeps[1], resultLowMax), complete(plain, resultLowMax+1))
	requireFull(t, got[0])
	require.NoError(t, got[1], "a small result is stored")
	require.NoError(t, got[2], "a result that is not stored takes no space")
	require.Equal(t, []error{nil}, f.settle(tenant, queue.Settlement{Ref: fails.Ref, Token: fails.Token, Action: queue.Fail, Error: strings.Repeat("é", 2_000)}))
	found, err := f.lookup(tenant, fails.Ref)
	require.NoError(t, err)
	require.LessOrEqual(t, len(found.LastError), errorLowMax)
	require.Contains(t, found.LastError, "éé")
	require.True(t, strings.HasSuffix(found.LastError, cutMark))

	f.free(500, disk.SpaceOK)
	require.Equal(t, []error{nil}, f.settle(tenant, complete(keeps[0], resultLowMax+1)), "the lease remains valid")
}

func TestCutTextsAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 200, -1).Draw(t, "text")
		most := rapid.IntRange(len(cutMark), 100).Draw(t, "most")
		got := cut(text, most)
		require.True(t, utf8.ValidString(got))
		require.LessOrEqual(t, len(got), most)
		if len(text) <= most {
			require.Equal(t, text, got)
		}
	})
}

// Below the critical mark, the shard writes nothing, serves reads, and stops its time. Leases and
// delays that would have ended in that period end when service resumes.
func TestCriticalSpaceRefusesAllChanges(t *testing.T) {
	f := startFull(t)
	refs := f.enqueue(newTasks("q", 3)...)
	short := f.enqueue(queue.NewTask{Queue: "short", LeaseMs: 10})[0]
	held, lapsing := f.claim(1, "q")[0], f.claim(1, "short")[0]
	waiter := f.work(queue.Claim{Queues: []string{"later"}, Credit: 1})
	idle := f.work(queue.Claim{Queues: []string{"q"}})
	require.NoError(t, f.changed(Cancel, f.enqueue(queue.NewTask{Queue: "gone"})[0]))
	f.free(49, disk.SpaceExhausted)
	f.free(90, disk.SpaceCritical)
	before := f.store.Counters()

	requireFull(t, f.Enqueue(tenant, newTasks("q", 1), nil))
	settled := f.settle(tenant, queue.Settlement{Ref: held.Ref, Token: held.Token, Action: queue.Complete})
	requireFull(t, settled[0])
	_, refused := f.space.Refusals()
	require.EqualValues(t, 2, refused, "one per call")
	requireFull(t, f.changed(Cancel, refs[0]))
	requireFull(t, receive(t, ask(t, func(r func(Purged, error)) error { return f.Purge(tenant, "q", 100, r) })).err)
	for _, change := range []func(r func(struct{}, error)) error{
		func(r func(struct{}, error)) error { return f.Pause(tenant, "q", true, r) },
		func(r func(struct{}, error)) error {
			return f.Configure(tenant, "q", queue.Policy{MaxAttempts: 3}, 1, r)
		},
		func(r func(struct{}, error)) error { return f.Delete(tenant, "gone", r) },
		func(r func(struct{}, error)) error {
			return f.PutSystem([]storage.SystemRecord{{Key: "k", Value: []byte("v")}}, r)
		},
	} {
		requireFull(t, receive(t, ask(t, change)).err)
	}
	requireFull(t, receive(t, f.work(queue.Claim{Queues: []string{"q"}, Credit: 1}).failed))
	requireFull(t, receive(t, ask(t, func(r func([]Granted, error)) error {
		p := &poll{here: &view{shards: []*Shard{f.Shard}, led: []int{0}}, claim: queue.Claim{Tenant: tenant, Queues: []string{"q"}, Credit: 1, Once: true}, left: 1, reply: r}
		return p.ask()
	})).err)
	require.NoError(t, idle.Credit(1))
	f.pass(1_000) // the short lease has expired
	require.Empty(t, idle.tasks)

	found, err := f.lookup(tenant, refs[1])
	require.NoError(t, err)
	require.Equal(t, Ready, found.State)
	found, err = f.lookup(tenant, short)
	require.NoError(t, err)
	require.Equal(t, Leased, found.State)
	listed := receive(t, ask(t, func(r func(Listed, error)) error {
		return f.List(List{Tenant: tenant, Queue: "q", State: Ready, Limit: 10}, r)
	}))
	require.NoError(t, listed.err)
	require.Len(t, listed.value.Tasks, 2)
	require.Len(t, f.stats(), 3, "a queue without a record has no figures")
	require.Equal(t, before.Sets, f.store.Counters().Sets, "nothing is written")
	require.Equal(t, before.Deletes, f.store.Counters().Deletes)

	f.free(500, disk.SpaceOK)
	require.Equal(t, refs[1], receive(t, idle.tasks).Ref)
	require.Eventually(t, func() bool {
		found, err := f.lookup(tenant, short)
		return err == nil && found.State == Ready
	}, waitMost, waitStep)
	f.end(held, queue.Complete)
	require.ErrorIs(t, f.settle(tenant, queue.Settlement{Ref: lapsing.Ref, Token: lapsing.Token, Action: queue.Complete})[0], queue.ErrStaleToken)
	f.enqueue(queue.NewTask{Queue: "later"})
	require.Equal(t, "later", receive(t, waiter.tasks).Queue.Name(), "an earlier waiter gets the task")
	f.audit()
}

// A shard that starts below the critical mark serves reads, and accepts changes once there is
// space.
func TestAShardOpensWithoutSpace(t *testing.T) {
	f := startFull(t)
	refs := f.enqueue(newTasks("q", 3)...)
	leased := f.claim(1, "q")[0]
	refs = append(refs, f.enqueue(queue.NewTask{Queue: "q", DelayMs: 10})...)
	f.pass(20)
	f.free(90, disk.SpaceCritical)
	f.Close()
	var err error
	f.Shard, err = New(f.store, Options{Space: f.space, NowMs: f.nowMs.Load})
	require.NoError(t, err)
	for i, want := range []TaskState{Leased, Ready, Ready, Ready} {
		found, err := f.lookup(tenant, refs[i])
		require.NoError(t, err)
		require.Equal(t, want, found.State)
	}
	requireFull(t, f.settle(tenant, queue.Settlement{Ref: leased.Ref, Token: leased.Token, Action: queue.Complete})[0])
	f.free(500, disk.SpaceOK)
	f.end(leased, queue.Complete)
	require.Len(t, f.claim(10, "q"), 3)
}

// A call over several shards reports for each task whether it was stored. If one shard refuses its
// part, tasks that another shard stored are not reported as refused.
func TestRefusalsAreOfSingleItems(t *testing.T) {
	err := errors.New("full")
	c := &enqueue{tasks: newTasks("q", 2)}
	require.True(t, c.refuse(err))
	require.Equal(t, []queue.Enqueued{{Err: err}, {Err: err}}, c.out)
	s := &settle{settlements: make([]queue.Settlement, 2)}
	require.True(t, s.refuse(err))
	require.Equal(t, []error{err, err}, s.out)
	require.False(t, (&query[int]{}).refuse(err), "a read")
}

// A command that was committed before the server noticed the loss of its data folder is not
// acknowledged afterwards.
func TestNothingIsAcknowledgedWithoutTheDataFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(dir, 0o700))
	gone := make(chan string, 100)
	space := disk.WatchSpace(disk.SpaceOptions{Dir: dir, Low: disk.Mark{Set: true}, Critical: disk.Mark{Set: true}, Fatal: func(problem string) { gone <- problem }})
	defer space.Close()
	f := start(t, vfs.NewMem(), Options{Space: space}) // the store itself is in memory
	defer f.stop()
	f.enqueue(newTasks("q", 1)...)
	require.NoError(t, os.Remove(dir))
	require.Contains(t, <-gone, dir)
	var missing *disk.GoneError
	require.ErrorAs(t, receive(t, f.enqueueLater(newTasks("q", 1)...)).err, &missing)
	require.Equal(t, dir, missing.Path)
}
