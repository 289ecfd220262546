package bare

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newTestShard returns a shard on an in-memory file system. Its goroutines do not run.
func newTestShard(t *testing.T, sync bool) (*shard, *vfs.MemFS) {
	t.Helper()
	memory := vfs.NewCrashableMem()
	store, err := openStore(storeFolder, memory)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return newShard(store, sync), memory
}

func newSession() *session {
	return &session{replies: make(chan []byte, repliesMax), done: make(chan struct{})}
}

// decided applies requests as one group and commits it.
func decided(t *testing.T, s *shard, requests ...request) {
	t.Helper()
	for _, r := range requests[1:] {
		s.requests <- r
	}
	d := decision{batch: s.store.NewBatch()}
	require.NoError(t, s.group(requests[0], &d))
	g := newGroup(t.Context())
	s.decisions <- d
	g.run(func() error { return s.commit(g) })
	for _, r := range d.replies {
		<-r.to.replies // the group is committed
		r.to.replies <- r.frame
	}
	require.NoError(t, g.stop())
}

func payloadOf(fill byte) []byte { return bytes.Repeat([]byte{fill}, payloadBytes) }

func sequencesOf(numbers ...uint64) (f []byte) {
	for _, n := range numbers {
		f = binary.LittleEndian.AppendUint64(f, n)
	}
	return f
}

// tasksOf returns the number of task records in a store.
func tasksOf(t *testing.T, store *pebble.DB) (n int) {
	t.Helper()
	all, err := store.NewIter(&pebble.IterOptions{LowerBound: []byte("tasks"), UpperBound: []byte("tasks~")})
	require.NoError(t, err)
	for all.First(); all.Valid(); all.Next() {
		n++
	}
	require.NoError(t, all.Close())
	return n
}

// Tasks are stored, delivered in order, each to one worker, and removed at their completion.
func TestCycle(t *testing.T) {
	s, _ := newTestShard(t, false)
	producer, one, two := newSession(), newSession(), newSession()
	decided(t, s,
		request{producer, (*shard).enqueue, append(payloadOf('x'), payloadOf('y')...)},
		request{one, (*shard).work, workFrame(1, 0)},
		request{two, (*shard).work, workFrame(3, 0)},
		request{producer, (*shard).enqueue, payloadOf('z')})
	assert.Equal(t, append([]byte{kindEnqueued}, sequencesOf(1, 2)...), <-producer.replies)
	assert.Equal(t, append([]byte{kindEnqueued}, sequencesOf(3)...), <-producer.replies)
	assert.Equal(t, append(append([]byte{kindTasks}, sequencesOf(1)...), payloadOf('x')...), <-one.replies)
	delivered := <-two.replies
	assert.Equal(t, append(append(append(append([]byte{kindTasks}, sequencesOf(2)...), payloadOf('y')...), sequencesOf(3)...), payloadOf('z')...), delivered)
	assert.Equal(t, 3, tasksOf(t, s.store))

	decided(t, s, request{two, (*shard).work, append(workFrame(0, 2), sequencesOf(2, 3)...)})
	assert.Equal(t, []byte{kindCompleted, 2, 0, 0, 0}, <-two.replies)
	assert.Equal(t, 1, tasksOf(t, s.store))
	assert.Len(t, s.leased, 1)
}

// An acknowledgement with sync means that the task survives a power failure. Without sync it does
// not.
func TestDurability(t *testing.T) {
	for _, sync := range []bool{false, true} {
		s, memory := newTestShard(t, sync)
		producer := newSession()
		decided(t, s, request{producer, (*shard).enqueue, payloadOf('x')})
		require.NotEmpty(t, <-producer.replies)
		after, err := pebble.Open(storeFolder, &pebble.Options{FS: memory.CrashClone(vfs.CrashCloneCfg{}), Logger: silent{}})
		require.NoError(t, err)
		assert.Equal(t, sync, tasksOf(t, after) == 1)
		require.NoError(t, after.Close())
	}
}

// The number of stored leases is bounded for any length of the load.
func TestLeasesAreBounded(t *testing.T) {
	s, _ := newTestShard(t, false)
	d := decision{batch: s.store.NewBatch()}
	for range leasesKept + 10 {
		require.NoError(t, s.storeLease([]byte{1}, &d))
	}
	require.NoError(t, d.batch.Commit(pebble.NoSync))
	all, err := s.store.NewIter(&pebble.IterOptions{LowerBound: []byte("leases"), UpperBound: []byte("leases~")})
	require.NoError(t, err)
	n := 0
	for all.First(); all.Valid(); all.Next() {
		n++
	}
	require.NoError(t, all.Close())
	assert.Equal(t, leasesKept, n)
}

// The memory of delivered tasks is reused.
func TestReadyTasksAreCompacted(t *testing.T) {
	s, _ := newTestShard(t, false)
	producer, worker := newSession(), newSession()
	tasks := readyCompact + 1
	decided(t, s,
		request{worker, (*shard).work, workFrame(tasks, 0)},
		request{producer, (*shard).enqueue, make([]byte, tasks*payloadBytes)})
	assert.Zero(t, s.head)
	assert.Zero(t, len(s.ready))
}

func TestAWrongRequestEndsTheServer(t *testing.T) {
	for says, r := range map[string]request{
		"task 7 was completed but is not leased":             {newSession(), (*shard).work, append(workFrame(0, 1), sequencesOf(7)...)},
		"complete tasks: the frame's length does not match":  {newSession(), (*shard).work, []byte{1, 2, 3}},
		"enqueue 3 bytes: the frame's length does not match": {newSession(), (*shard).enqueue, []byte{1, 2, 3}},
		"enqueue 0 bytes": {newSession(), (*shard).enqueue, nil},
	} {
		s, _ := newTestShard(t, false)
		g := newGroup(t.Context())
		g.run(func() error { return s.decide(g) })
		s.requests <- r
		<-g.ctx.Done()
		require.ErrorContains(t, g.stop(), says)
	}
}
