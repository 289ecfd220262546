package shard

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/record"
)

// operationsOf returns the operations on the store in log entries, and the number of records that
// they set for each prefix.
func operationsOf(t require.TestingT, entries [][]byte) (all storage.Operations, sets map[byte]uint64) {
	sets = map[byte]uint64{}
	head := len(storage.Tenure{}.Begin())
	for _, entry := range entries {
		if !storage.ChangesStore(entry) {
			continue
		}
		for rest := batchrepr.Read(entry[head:]); ; {
			kind, key, value, ok, err := rest.Next()
			require.NoError(t, err)
			if !ok {
				break
			}
			switch kind {
			case pebble.InternalKeyKindSet:
				all.Sets++
				all.SetBytes += uint64(len(key) + len(value))
				all.Encodes++
				all.EncodedBytes += uint64(len(value))
				sets[key[0]]++
			default:
				all.Deletes++
			}
		}
	}
	return all, sets
}

// written returns the operations without those that only read.
func written(o storage.Operations) storage.Operations {
	o.Gets, o.Scanned, o.Decodes = 0, 0, 0
	return o
}

// For any commands, the operations of all steps add up to those in the log, and each step has the
// records that its commands put.
func TestTheStepsAddUpToWhatTheLogHas(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f, log := replicated(t)
		defer func() {
			f.Lose()
			require.NoError(r, f.store.Close())
		}()
		queues := rapid.SampledFrom([]string{"a", "b", "c"})
		var leased []queue.Delivery
		for range rapid.IntRange(1, 25).Draw(r, "commands") {
			switch rapid.SampledFrom([]string{"enqueue", "claim", "settle", "wait"}).Draw(r, "command") {
			case "enqueue":
				tasks := newTasks(queues.Draw(r, "queue"), rapid.IntRange(1, 5).Draw(r, "tasks"))
				tasks[0].DelayMs = rapid.SampledFrom([]uint64{0, 1_000}).Draw(r, "delay")
				tasks[0].Key = rapid.SampledFrom([]string{"", "k1", "k2"}).Draw(r, "key")
				f.enqueue(tasks...)
			case "claim":
				leased = append(leased, f.claim(rapid.IntRange(1, 6).Draw(r, "credit"), queues.Draw(r, "queue"))...)
			case "settle":
				if len(leased) > 0 {
					action := rapid.SampledFrom([]queue.Action{queue.Complete, queue.Fail, queue.Release}).Draw(r, "action")
					f.settle(tenant, queue.Settlement{Ref: leased[0].Ref, Token: leased[0].Token, Action: action, Error: "oops"})
					leased = leased[1:]
				}
			case "wait": // leases end, and delayed tasks become ready
				f.pass(rapid.Int64Range(1, 40_000).Draw(r, "ms"))
			}
		}
		f.stats() // a turn after all commands
		log.mu.Lock()
		want, sets := operationsOf(r, log.applied)
		log.mu.Unlock()
		c := f.store.Counters()
		var sum storage.Operations
		for _, step := range storage.Steps() {
			sum = sum.Plus(c.Steps[step])
		}
		require.Equal(r, want, written(sum))
		require.Equal(r, c.Operations, sum)

		require.GreaterOrEqual(r, c.Steps[storage.StepEnqueue].Sets, sets[record.PrefixTask]+sets[record.PrefixKey])
		require.Equal(r, sets[record.PrefixLease], c.Steps[storage.StepClaim].Sets)
		require.Equal(r, sets[record.PrefixQueue]+sets[record.PrefixMeta]+sets[record.PrefixSum], c.Steps[storage.StepCommit].Sets)
		rest := c.Steps[storage.StepEnqueue].Sets + c.Steps[storage.StepSettle].Sets + c.Steps[storage.StepOther].Sets
		require.Equal(r, sets[record.PrefixTask]+sets[record.PrefixKey]+sets[record.PrefixDue]+sets[record.PrefixProgress]+sets[record.PrefixAttempt]+sets[record.PrefixDead], rest)
	})
}

// One task's cycle is the same work in each store, except that a store with its own log stores new
// tasks and leases in the log only. These are encoded, but not set.
func TestEachStepOfACycleHasItsOperations(t *testing.T) {
	cycle := func(f *fixture) (steps map[storage.Step]storage.Operations) {
		before := f.store.Counters()
		f.enqueue(queue.NewTask{Queue: "q", Key: "once", Payload: []byte("some payload")})
		f.end(f.claim(1, "q")[0], queue.Complete)
		after := f.store.Counters()
		steps = map[storage.Step]storage.Operations{}
		for _, step := range storage.Steps() {
			is, was := after.Steps[step], before.Steps[step]
			steps[step] = storage.Operations{
				Sets: is.Sets - was.Sets, Deletes: is.Deletes - was.Deletes, Encodes: is.Encodes - was.Encodes, Gets: is.Gets - was.Gets, Decodes: is.Decodes - was.Decodes,
			}
		}
		return steps
	}
	own := start(t, vfs.NewMem(), Options{})
	of := cycle(own)
	own.stop()
	sums := of[storage.StepCommit].Sets - 6 // the bucket of keys
	assert.Equal(t, map[storage.Step]storage.Operations{
		storage.StepEnqueue: {Encodes: 2, Sets: 1}, storage.StepClaim: {Encodes: 1}, storage.StepSettle: {},
		storage.StepCommit: {Encodes: 6 + sums, Sets: 6 + sums}, storage.StepOther: {},
	}, of, "the key is stored, and each of three commits sets the queue and the shard")

	f, _ := replicated(t)
	of = cycle(f)
	f.Lose()
	require.NoError(t, f.store.Close())
	assert.Equal(t, map[storage.Step]storage.Operations{
		storage.StepEnqueue: {Encodes: 2, Sets: 2}, storage.StepClaim: {Encodes: 1, Sets: 1}, storage.StepSettle: {Deletes: 2},
		storage.StepCommit: {Encodes: 6 + sums, Sets: 6 + sums}, storage.StepOther: {},
	}, of)
}

// A claim of tasks that are not in memory reads and decodes them. A lookup is not a step of a
// cycle.
func TestReadsBelongToTheStepThatNeedsThem(t *testing.T) {
	fs := vfs.NewMem()
	f := start(t, fs, Options{})
	refs := f.enqueue(newTasks("q", 3)...)
	f.stop()
	f = start(t, fs, Options{}) // no task is in memory
	before := f.store.Counters()
	require.Len(t, f.claim(3, "q"), 3)
	after := f.store.Counters()
	assert.GreaterOrEqual(t, after.Steps[storage.StepClaim].Decodes-before.Steps[storage.StepClaim].Decodes, uint64(3))
	assert.Positive(t, after.Steps[storage.StepClaim].Scanned-before.Steps[storage.StepClaim].Scanned)
	assert.Equal(t, before.Steps[storage.StepOther], after.Steps[storage.StepOther])
	_, err := f.lookup(tenant, refs[0])
	require.NoError(t, err)
	last := f.store.Counters()
	f.stop()
	assert.Equal(t, after.Steps[storage.StepClaim], last.Steps[storage.StepClaim])
	assert.Equal(t, uint64(1), last.Steps[storage.StepOther].Gets-after.Steps[storage.StepOther].Gets)
	assert.Equal(t, uint64(1), last.Steps[storage.StepOther].Decodes-after.Steps[storage.StepOther].Decodes)
}
