package profile

import (
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/symbols"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const shardPath = symbols.Module + "engine/shard."

// testNames is independent of changes to the engine.
var testNames = Names{map[string]symbols.Use{
	"engine/shard.(*inbox).put":     {Locks: []string{"shard.inbox.mu"}},
	"engine/shard.(*inbox).take":    {Locks: []string{"shard.inbox.mu"}},
	"engine/rpc.(*outbox).put":      {Locks: []string{"rpc.outbox.mu"}, Sends: []string{"rpc.outbox.wake"}},
	"engine/shard.(*Shard).pass":    {Sends: []string{"shard.Shard.pipe"}},
	"engine/shard.(*Shard).release": {Receives: []string{"shard.Shard.pipe"}},
}, symbols.Waits}

// inboxProfiles returns block and mutex profiles as the runtime writes them, of a lock with two
// waiting and three holding functions.
func inboxProfiles() (block, mutex *profile.Profile) {
	block = build(
		delayTypes(),
		stack{[]string{"sync.(*Mutex).Lock", shardPath + "(*inbox).take", shardPath + "(*Shard).decide", shardPath + "New.gowrap1"}, []int64{3, 6000}},
		stack{[]string{"sync.(*Mutex).Lock", shardPath + "(*inbox).put", shardPath + "(*Shard).Settle", shardPath + "(*Group).Settle"}, []int64{1, 2000}},
		stack{[]string{"runtime.selectgo", shardPath + "(*Shard).wait", shardPath + "(*Shard).decide", shardPath + "New.gowrap1"}, []int64{9, 900_000}},
		stack{[]string{"runtime.chansend1", shardPath + "(*Shard).pass", shardPath + "(*Shard).decide"}, []int64{2, 1000}},
		stack{[]string{"runtime.selectgo", "net/http.(*x).y", "net/http/pprof.Profile", "z"}, []int64{2, 70}},
		stack{[]string{"sync.(*WaitGroup).Wait", "github.com/cockroachdb/pebble/v2.(*Batch).SyncWait", "z"}, []int64{2, 700}},
	)
	mutex = build(
		delayTypes(),
		stack{[]string{"sync.(*Mutex).Unlock", shardPath + "(*inbox).put", shardPath + "(*Shard).Enqueue"}, []int64{5, 9000}},
		stack{[]string{"sync.(*Mutex).Unlock", shardPath + "(*inbox).take", shardPath + "(*Shard).decide"}, []int64{1, 1000}},
		stack{[]string{"runtime.unlock", "runtime.unlock2", "runtime.wakep", "runtime.ready"}, []int64{4, 1000}},
	)
	return block, mutex
}

func TestLocksJoinWaitersWithHolders(t *testing.T) {
	block, mutex := inboxProfiles()
	a := account(block, mutex, 100, testNames)
	require.Len(t, a.Locks, 3)
	assert.InDelta(t, 900_000, a.WorkNs, 0, "an idle shard does not wait for a lock")
	assert.InDelta(t, 770, a.AnswerNs, 0, "a commit that waits for the disk and the harness do not wait for a lock")
	assert.InDelta(t, 10_000, a.LockNs, 0)
	assert.Equal(t, result.Lock{
		Name: "shard.inbox.mu", Kind: "mutex", WaitNs: 8000, WaitNsPerCycle: 80, Share: 0.8, Waits: 4,
		Holders: []result.LockSite{
			{Function: shardPath + "(*inbox).put", From: shardPath + "(*Shard).Enqueue", WaitNs: 7200, Share: 0.9},
			{Function: shardPath + "(*inbox).take", From: shardPath + "(*Shard).decide", WaitNs: 800, Share: 0.1},
		},
		Waiters: []result.LockSite{
			{Function: shardPath + "(*inbox).take", From: shardPath + "(*Shard).decide", WaitNs: 6000, Share: 0.75},
			{Function: shardPath + "(*inbox).put", From: shardPath + "(*Shard).Settle", WaitNs: 2000, Share: 0.25},
		},
	}, a.Locks[0], "the wait is that of the block profile")
	assert.Equal(t, result.Lock{
		Name: "runtime.wakep", Kind: "runtime", WaitNs: 1000, WaitNsPerCycle: 10, Share: 0.1, Waits: 4,
		Holders: []result.LockSite{{Function: "runtime.wakep", WaitNs: 1000, Share: 1}},
	}, a.Locks[1])
	pipe := a.Locks[2]
	assert.Equal(t, "shard.Shard.pipe", pipe.Name)
	assert.Equal(t, "channel", pipe.Kind)
	assert.Equal(t, []result.LockSite{{Function: shardPath + "(*Shard).release", WaitNs: 1000, Share: 1}}, pipe.Holders, "the function that receives from it")
	s := golden.Cases(t, "testdata/sentences.golden")
	s.Equal(t, "a channel", Sentence(pipe))
	s.Equal(t, "a lock without holders", Sentence(Locks(block, nil, 1, testNames)[0]))
}

func TestLocksOfOneProfileAlone(t *testing.T) {
	block, mutex := inboxProfiles()
	assert.Empty(t, Locks(nil, nil, 1, testNames))
	alone := Locks(nil, mutex, 0, testNames)
	require.Len(t, alone, 2)
	assert.InDelta(t, 10_000, alone[0].WaitNs, 0)
	assert.Zero(t, alone[0].WaitNsPerCycle, "no figure per cycle without cycles")
	alone = Locks(block, nil, 1, testNames)
	require.Len(t, alone, 2)
	assert.Empty(t, alone[0].Holders)
	assert.Empty(t, Locks(build([]*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, stack{[]string{"f"}, []int64{1}}), nil, 1, Names{}),
		"other profiles have no locks")
}

// A goroutine that waits for a condition releases its lock. The unlock counts for the lock, but the
// wait for the condition does not.
func TestLockOfACondition(t *testing.T) {
	block := build(
		delayTypes(),
		stack{[]string{"sync.(*Mutex).Lock", "a/b.(*T).put", "a/b.Run"}, []int64{1, 300}},
		stack{[]string{"sync.(*Cond).Wait", "a/b.(*T).take", "a/b.Run"}, []int64{1, 100}},
	)
	mutex := build(delayTypes(), stack{[]string{"sync.(*Mutex).Unlock", "sync.(*Cond).Wait", "a/b.(*T).take", "a/b.Run"}, []int64{1, 300}},
		stack{[]string{"sync.(*Cond).Wait", "a/b.(*T).take", "a/b.Run"}, []int64{1, 300}})
	locks := Locks(block, mutex, 1, testNames)
	require.Len(t, locks, 2)
	assert.Equal(t, "b.T", locks[0].Name)
	require.Len(t, locks[0].Holders, 1)
	assert.Equal(t, "a/b.(*T).take", locks[0].Holders[0].Function)
	assert.Equal(t, "cond", locks[1].Kind)
	assert.Empty(t, locks[1].Holders)
}

// Locks of other packages are named by their types, and generic functions without type arguments.
func TestNamesOfLocks(t *testing.T) {
	for _, c := range []struct {
		stack []string
		op    string
		name  string
		from  string
	}{
		{[]string{"sync.(*Mutex).Lock", "google.golang.org/grpc/internal/transport.(*controlBuffer).get", "google.golang.org/grpc/internal/transport.(*loopyWriter).run"}, opMutex, "transport.controlBuffer", "google.golang.org/grpc/internal/transport.(*loopyWriter).run"},
		{[]string{"sync.(*Mutex).Lock", symbols.Module + "engine/rpc.(*outbox[go.shape.struct { x []int }]).put", symbols.Module + "engine/rpc.(*produceStream).enqueue.func2"}, opMutex, "rpc.outbox.mu", symbols.Module + "engine/rpc.(*produceStream).enqueue.func2"},
		{[]string{"internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "sync.(*RWMutex).Lock", "github.com/cockroachdb/pebble/v2.(*DB).Close"}, opRWMutex, "pebble/v2.DB", ""},
		{[]string{"sync.(*Mutex).Lock", "sync.(*Cond).Wait", "a/b.(*T).await", "a/b.(*T).run", "a/b.Run"}, opMutex, "b.T", "a/b.Run"},
		{[]string{"sync.(*Cond).Wait", "a/b.(*T).await"}, opCond, "b.(*T).await", ""},
		{[]string{"sync.(*Mutex).Lock", "a/b.use.func1", "a/b.use"}, opMutex, "b", ""},
		{[]string{"runtime.chanrecv1", "a/b.(*T).await.func2.1", "a/b.(*U).run"}, opReceive, "b.(*T).await", "a/b.(*U).run"},
		{[]string{"runtime.unlock", "runtime.unlock2", "runtime.systemstack"}, opRuntime, "runtime.unlock", ""},
		{[]string{"sync.(*Mutex).Lock", "runtime.doInit"}, opMutex, "runtime", ""},
		{nil, opRuntime, "", ""},
	} {
		s := siteOf(build(delayTypes(), stack{c.stack, []int64{1, 1}}).Sample[0])
		assert.Equal(t, c.op, s.op, "%v", c.stack)
		assert.Equal(t, c.from, s.from, "%v", c.stack)
		assert.Equal(t, c.name, testNames.lock(s), "%v", c.stack)
	}
}

// A goroutine that receives in the function that it was started with is idle, and so is one that
// receives in a library. One that sends is blocked by contention, and one that receives further
// down in the engine waits for another goroutine.
func TestWaitsForWork(t *testing.T) {
	for _, c := range []struct {
		stack []string
		want  symbols.Reason
	}{
		{[]string{"runtime.chanrecv2", "a/b.loop"}, symbols.ForWork},
		{[]string{"runtime.selectgo", "a/b.(*T).loop", "a/b.New.gowrap1"}, symbols.ForWork},
		{[]string{"runtime.selectgo", symbols.Module + "engine/storage/disk.(*Space).reclaim", "sync.(*WaitGroup).Go.func1"}, symbols.ForWork},
		{[]string{"runtime.selectgo", shardPath + "(*Shard).pass", shardPath + "(*Shard).pass-fm", "sync.(*WaitGroup).Go.func1"}, symbols.ForWork},
		{[]string{"runtime.chansend1", "a/b.loop"}, symbols.ForLock},
		{[]string{"runtime.chanrecv2", "a/b.ask", "a/b.loop"}, symbols.ForWork},
		{[]string{"runtime.selectgo", "github.com/hashicorp/raft.(*netPipeline).AppendEntries", "a/b.loop"}, symbols.ForWork},
		{[]string{"runtime.chanrecv2", symbols.Module + "engine/shard.(*Shard).pass", "a/b.loop"}, symbols.ForLock},
		{[]string{"runtime.selectgo", symbols.Module + "engine/client.(*Producer).Enqueue", "a/b.loop"}, symbols.ForAnswer},
		{[]string{"sync.(*Cond).Wait", symbols.Module + "harness/load.(*slot).work", "a/b.loop"}, symbols.ForAnswer},
		{[]string{"sync.(*Mutex).Lock", symbols.Module + "harness/load.(*slot).work", "a/b.loop"}, symbols.ForLock},
		{[]string{"runtime.chansend1", symbols.Module + "engine/client.(*Producer).Enqueue", "a/b.loop"}, symbols.ForLock},
		{[]string{"sync.(*Mutex).Lock", shardPath + "(*Shard).wait", "a/b.loop"}, symbols.ForLock},
		{[]string{"runtime.selectgo", symbols.Module + "engine/rpc.(*inFlight).acquire", "a/b.loop"}, symbols.ForLock},
		{[]string{"runtime.selectgo", symbols.Module + "engine/shard.AwaitReply[go.shape.int]", "a/b.loop"}, symbols.ForAnswer},
		{[]string{"sync.(*Cond).Wait", "github.com/cockroachdb/pebble/v2/record.(*flusherCond).Wait", "a/b.loop"}, symbols.ForWork},
		{[]string{"sync.(*Cond).Wait", "google.golang.org/grpc/test/bufconn.(*pipe).Read", "a/b.loop"}, symbols.ForWork},
		// The pipe is full.
		{[]string{"sync.(*Cond).Wait", "google.golang.org/grpc/test/bufconn.(*pipe).Write", "a/b.loop"}, symbols.ForLock},
		{[]string{"runtime.selectgo", symbols.Module + "engine/memory.(*Gate).Watch", "a/b.loop"}, symbols.ForWork},
		{[]string{"runtime.chanrecv1", symbols.Module + "engine/memory.(*Gate).measureLocked", symbols.Module + "engine/memory.(*Gate).Watch", "a/b.loop"}, symbols.ForLock},
		{[]string{"sync.(*WaitGroup).Wait", "a/b.loop"}, symbols.ForLock},
		{[]string{"sync.(*Mutex).Lock", "a/b.f", "github.com/prometheus/client_golang/prometheus.(*Registry).Gather", "g"}, symbols.ForAnswer},
	} {
		got, why := testNames.wait(siteOf(build(delayTypes(), stack{c.stack, []int64{1, 1}}).Sample[0]))
		assert.Equal(t, c.want, got, "%v", c.stack)
		if got != symbols.ForLock {
			assert.NotEmpty(t, why)
		}
	}
}

// For all profiles: each wait has one of the three reasons, the shares sum to one, and the longest
// wait comes first.
func TestAccountProperty(t *testing.T) {
	functions := []string{
		"sync.(*Mutex).Lock", "runtime.chansend1", "runtime.chanrecv1", "runtime.selectgo", "sync.(*Cond).Wait", "runtime.unlock",
		shardPath + "(*inbox).put", shardPath + "(*Shard).pass", "a.(*T).f", "b.f[x]", "c.f.func1", "c", "",
	}
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.Custom(func(t *rapid.T) stack {
			return stack{
				rapid.SliceOfN(rapid.SampledFrom(functions), 0, 5).Draw(t, "functions"),
				[]int64{rapid.Int64Range(0, 9).Draw(t, "n"), rapid.Int64Range(0, 1e9).Draw(t, "ns")},
			}
		})
		block := build(delayTypes(), rapid.SliceOfN(one, 0, 20).Draw(t, "block")...)
		a := account(block, nil, 10, testNames)
		var total int64
		for _, s := range block.Sample {
			total += s.Value[1]
		}
		require.InDelta(t, float64(total), a.LockNs+a.WorkNs+a.AnswerNs, 1)
		var share float64
		for i, l := range a.Locks {
			share += l.Share
			require.Positive(t, l.WaitNs)
			require.True(t, i == 0 || l.WaitNs <= a.Locks[i-1].WaitNs)
			require.LessOrEqual(t, len(l.Waiters), sitesMax)
		}
		require.LessOrEqual(t, share, 1.0000001)
		require.LessOrEqual(t, len(a.Locks), locksMax)
	})
}

// Real profiles of this process, with goroutines that contend for a lock.
func TestLocksOfRealProfiles(t *testing.T) {
	p := newProcess(t)
	s, err := Start(t.Context(), Server{p.admin}, []scenario.Capture{mutexCapture, blockCapture}, marks())
	require.NoError(t, err)
	contend(t, holderInWindow)
	require.NoError(t, s.Stop(t.Context()))
	for _, l := range Locks(s.profiles["block"], s.profiles["mutex"], 1, Names{}) {
		if l.Kind != "mutex" || len(l.Holders) == 0 || len(l.Waiters) == 0 {
			continue
		}
		if render.Function(l.Holders[0].Function) == "profile.holderInWindow" && render.Function(l.Waiters[0].Function) == "profile.wanter" {
			return
		}
	}
	t.Fatal("the profiles do not show who waited for whom")
}
