package profile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/result"
)

// Each stack belongs to the area of its innermost function that has one.
func TestAreaOfAStack(t *testing.T) {
	const engine, pebble = "github.com/pronybench/prony/engine/", "github.com/cockroachdb/pebble/v2."
	shard := []string{engine + "shard.(*Shard).decide", engine + "shard.(*Shard).run"}
	for _, c := range []struct {
		want  string
		stack []string
	}{
		{result.AreaQueue, []string{engine + "queue.(*State).Settle"}},
		{result.AreaQueue, []string{"internal/runtime/maps.(*Map).getWithoutKey", "runtime.mapaccess1", engine + "queue.(*State).find"}},
		{result.AreaCodec, []string{"runtime.memmove", engine + "storage/record.(*Encoder).text", engine + "storage/record.EncodeTask", engine + "storage.(*Batch).PutFresh"}},
		{result.AreaCodec, []string{"google.golang.org/protobuf/proto.Unmarshal", "google.golang.org/grpc.recv"}},
		{result.AreaRPC, []string{engine + "wire.(*Frame).read", engine + "rpc.(*Service).Work"}},
		{result.AreaRPC, []string{"sync.(*Mutex).Lock", "google.golang.org/grpc/internal/transport.(*controlBuffer).put", engine + "shard.(*Shard).publish"}},
		{result.AreaCommit, []string{"github.com/cockroachdb/pebble/v2/internal/arenaskl.(*Skiplist).Add", pebble + "(*memTable).apply", pebble + "(*commitPipeline).Commit"}},
		{result.AreaCommit, []string{"runtime.memmove", pebble + "(*Batch).Set", engine + "storage.(*Batch).set"}},
		{result.AreaGet, []string{"github.com/cockroachdb/pebble/v2/sstable.(*Reader).readBlock", pebble + "(*getIter).Next", pebble + "(*DB).getInternal"}},
		{result.AreaIterator, []string{"github.com/cockroachdb/pebble/v2/sstable.(*Reader).readBlock", pebble + "(*mergingIter).Next", pebble + "(*Iterator).Next"}},
		{result.AreaCompaction, []string{"github.com/cockroachdb/pebble/v2/sstable.(*RawColumnWriter).Add", pebble + "(*DB).runCompaction"}},
		{result.AreaReplication, []string{"github.com/hashicorp/raft.(*Raft).leaderLoop"}},
		{result.AreaReplication, []string{engine + "storage.(*Store).Apply", engine + "replica.(*fsm).Apply"}},
		{result.AreaCommit, []string{engine + "storage.(*database).applyX", engine + "storage.(*Store).commit"}},
		{result.AreaMemory, append([]string{"runtime.nextFreeFast", "runtime.mallocgcSmallScanNoHeader", "runtime.mallocgc", "runtime.newobject"}, shard...)},
		{result.AreaGC, []string{"runtime.memclrNoHeapPointers", "runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker"}},
		{result.AreaScheduler, []string{"runtime.futex", "runtime.futexsleep", "runtime.notesleep", "runtime.stopm", "runtime.findRunnable", "runtime.schedule", "runtime.mcall"}},
		{result.AreaScheduler, append([]string{"runtime.lock2", "runtime.chansend", "runtime.chansend1"}, shard...)},
		{result.AreaSyscalls, []string{"internal/runtime/syscall.Syscall6", "syscall.write", "internal/poll.(*FD).Write", "net.(*conn).Write"}},
		{result.AreaOther, []string{"time.Now", "main.main", "runtime.main"}},
		{result.AreaOther, nil},
	} {
		assert.Equal(t, c.want, areaOf(c.stack, map[string]string{}), "%v", c.stack)
	}
}

// The areas of a profile are in areaOrder and sum to its total.
func TestAreasOfAProfile(t *testing.T) {
	const engine = "github.com/pronybench/prony/engine/"
	p := build(
		cpuTypes(),
		stack{[]string{"runtime.mallocgc", engine + "queue.(*State).Enqueue"}, []int64{1, 40}},
		stack{[]string{engine + "queue.(*State).Enqueue", engine + "shard.(*Shard).run"}, []int64{1, 300}},
		stack{[]string{engine + "storage/record.EncodeTask", engine + "queue.(*State).Enqueue"}, []int64{1, 20}},
		stack{[]string{"google.golang.org/grpc.(*Server).serveStreams"}, []int64{1, 100}},
		stack{[]string{"main.main"}, []int64{1, 7}},
		stack{[]string{engine + "shard.(*Shard).publish"}, []int64{1, 3}},
	)
	got, err := areas(p, kindOf(t, "cpu"))
	require.NoError(t, err)
	assert.Equal(t, []result.ProfileArea{
		{Name: result.AreaRPC, Value: 100},
		{Name: result.AreaCodec, Value: 20},
		{Name: result.AreaQueue, Value: 303},
		{Name: result.AreaMemory, Value: 40},
		{Name: result.AreaOther, Value: 7},
	}, got)
	_, err = areas(build(delayTypes()), kindOf(t, "cpu"))
	assert.Error(t, err, "a profile without CPU time")
}

func TestAreasSumToTheProfile(t *testing.T) {
	names := []string{"main.main", "runtime.mallocgc", "google.golang.org/grpc.x", "net.x", "runtime.futex", "github.com/pronybench/prony/engine/queue.x", "a/b.c"}
	rapid.Check(t, func(r *rapid.T) {
		var stacks []stack
		for range rapid.IntRange(0, 10).Draw(r, "stacks") {
			stacks = append(stacks, stack{
				rapid.SliceOfN(rapid.SampledFrom(names), 0, 5).Draw(r, "functions"), []int64{1, rapid.Int64Range(0, 1<<40).Draw(r, "ns")},
			})
		}
		p := build(cpuTypes(), stacks...)
		all, err := areas(p, kindOf(t, "cpu"))
		require.NoError(r, err)
		summary, err := summarise(p, kindOf(t, "cpu"))
		require.NoError(r, err)
		sum := 0.0
		for _, a := range all {
			sum += a.Value
		}
		require.InDelta(r, summary.Total, sum, 0)
	})
}

// Each area except AreaOther has a prefix, and no function has prefixes of two areas.
func TestEachAreaHasAPlace(t *testing.T) {
	for area, prefixes := range areaPrefixes {
		assert.Contains(t, areaOrder, area)
		for _, prefix := range prefixes {
			for other, prefixes := range areaPrefixes {
				for _, longer := range prefixes {
					assert.False(t, other != area && strings.HasPrefix(longer, prefix), "%s of %s begins %s of %s", prefix, area, longer, other)
				}
			}
		}
	}
	assert.Len(t, areaOrder, len(areaPrefixes)+1, "%s has no prefix", result.AreaOther)
}
