package shard

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// slowLog is a file system on which, after hold, each fsync of the log waits until it is released.
// After fail, these fsyncs fail.
type slowLog struct {
	held    atomic.Bool
	failing atomic.Bool
	entered chan struct{}
	gate    chan struct{}
	letGo   func()
}

var errDisk = errors.New("the disk is broken")

func isLogSync(op errorfs.Op) bool {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		return strings.HasSuffix(op.Path, ".log")
	default:
		return false
	}
}

func newSlowLog() (*slowLog, vfs.FS) {
	l := &slowLog{entered: make(chan struct{}, 1), gate: make(chan struct{})}
	l.letGo = sync.OnceFunc(func() {
		l.held.Store(false)
		close(l.gate)
	})
	return l, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(l.maybe))
}

func (l *slowLog) maybe(op errorfs.Op) error {
	if !isLogSync(op) {
		return nil
	}
	if l.held.Load() {
		select {
		case l.entered <- struct{}{}:
		default:
		}
		<-l.gate
	}
	if l.failing.Load() {
		return errDisk
	}
	return nil
}

// decided waits until a task is visible in the store, which means that its batch was submitted.
func (f *fixture) decided(ref queue.Ref) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		_, found, err := f.store.Task(ref)
		return err == nil && found
	}, waitMost, waitStep)
}

// The shard sends neither answers nor tasks before their commit is durable. In the meantime it
// decides the next commands.
func TestNothingLeavesBeforeItIsDurable(t *testing.T) {
	disk, fs := newSlowLog()
	f := start(t, fs, Options{})
	defer f.stop()
	defer disk.letGo()
	refs := f.enqueue(newTasks("q", 3)...)
	held := f.claim(1, "q")

	disk.held.Store(true)
	enqueued := f.enqueueLater(newTasks("q", 1)...)
	receive(t, disk.entered)
	settled := ask(t, func(r func([]error, error)) error {
		return f.Settle(tenant, []queue.Settlement{{Ref: held[0].Ref, Token: held[0].Token, Action: queue.Complete}}, r)
	})
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 10})
	found := ask(t, func(r func(Found, error)) error { return f.Lookup(tenant, refs[2], r) })
	later := f.enqueueLater(newTasks("later", 1)...)
	f.decided(queue.Ref{Queue: refs[0].Queue + 1}) // all these commands are decided now

	assert.Empty(t, enqueued)
	assert.Empty(t, settled)
	assert.Empty(t, w.tasks)
	assert.Empty(t, found)
	assert.Empty(t, later)

	disk.letGo()
	assert.NoError(t, receive(t, enqueued).err)
	assert.Equal(t, []error{nil}, receive(t, settled).value)
	assert.Equal(t, refs[1], receive(t, w.tasks).Ref)
	assert.NoError(t, receive(t, found).err)
	assert.NoError(t, receive(t, later).err)
}

// When an fsync of the log fails, all commands that depend on it are answered with the error, and
// the shard stops.
func TestFailedCommitAnswersWithTheError(t *testing.T) {
	disk, fs := newSlowLog()
	var failures atomic.Int32
	failed := make(chan error, 10)
	f := start(t, fs, Options{Failed: func(err error) { failures.Add(1); failed <- err }})
	defer disk.letGo()
	refs := f.enqueue(newTasks("q", 3)...)

	disk.held.Store(true)
	disk.failing.Store(true)
	f.broken.Store(true)
	first := f.enqueueLater(newTasks("q", 1)...)
	receive(t, disk.entered)
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 1})
	found := ask(t, func(r func(Found, error)) error { return f.Lookup(tenant, refs[2], r) })
	figures := ask(t, f.Stats)
	closed := make(chan struct{})
	w.Close(func() { close(closed) })
	later := f.enqueueLater(newTasks("later", 1)...)
	f.decided(queue.Ref{Queue: refs[0].Queue + 1})
	disk.letGo()

	require.ErrorIs(t, receive(t, first).err, errDisk)
	require.ErrorIs(t, receive(t, later).err, errDisk)
	require.ErrorIs(t, receive(t, found).err, errDisk)
	require.ErrorIs(t, receive(t, figures).err, errDisk)
	require.ErrorIs(t, receive(t, w.failed), errDisk)
	receive(t, closed)
	require.ErrorIs(t, receive(t, failed), errDisk)
	require.ErrorIs(t, f.Enqueue(tenant, newTasks("q", 1), nil), ErrClosed)
	f.Close()
	assert.Equal(t, int32(1), failures.Load(), "calls of Options.Failed")
	assert.Empty(t, w.tasks)
	assert.Empty(t, w.failed)
	assert.Error(t, f.store.Close(), "the log is incomplete")
}

// quiet is a logger for Pebble whose output is shown only if a test fails.
type quiet struct{ *testing.T }

func (q quiet) Infof(format string, args ...any)  { q.Logf(format, args...) }
func (q quiet) Errorf(format string, args ...any) { q.T.Errorf(format, args...) }
func (q quiet) Fatalf(format string, args ...any) { q.T.Errorf(format, args...) }

// An unreadable record stops the shard. The command gets the error instead of a wrong answer.
func TestUnreadableStoreStopsTheShard(t *testing.T) {
	fs := vfs.NewMem()
	f := start(t, fs, Options{})
	ref := f.enqueue(newTasks("q", 2)...)[1]
	f.stop()

	require.NoError(t, fs.Remove("shard/SEAL"), "the seal would detect the change below")
	db, err := pebble.Open("shard", &pebble.Options{FS: fs, Logger: quiet{t}})
	require.NoError(t, err)
	key := []byte{'t', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}
	_, closer, err := db.Get(key)
	require.NoError(t, err, "%+v", ref)
	require.NoError(t, closer.Close())
	require.NoError(t, db.Set(key, []byte{99}, pebble.Sync))
	require.NoError(t, db.Close())

	failed := make(chan error, 10)
	f = start(t, fs, Options{Failed: func(err error) { failed <- err }})
	defer f.stop()
	claimed := ask(t, func(r func([]Granted, error)) error {
		p := &poll{here: newView([]*Shard{f.Shard}), claim: queue.Claim{Tenant: tenant, Queues: []string{"q"}, Credit: 5, Once: true}, left: 1, reply: r}
		return p.ask()
	})
	got := receive(t, claimed)
	require.ErrorContains(t, got.err, "record has format 99")
	require.Empty(t, got.value)
	require.ErrorContains(t, receive(t, failed), "record has format 99")
	require.Eventually(t, func() bool { return errors.Is(f.Stats(func([]queue.Stats, error) {}), ErrClosed) }, waitMost, waitStep)
}
