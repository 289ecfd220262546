package fsck

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/storagetest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// soundStore has these tasks of one priority by seq, in each state.
const (
	seqDone      = iota // completed
	seqLeased           // at its first attempt
	seqAgain            // leased at its second attempt
	seqReturned         // failed once
	seqDead             // has used its attempts
	seqFresh            // with a time to live
	seqDelayed          // with a time to live
	seqMayExpire        // leased, with a time to live
)

// soundStore creates a store through the state machine.
func soundStore(t *testing.T) *storage.Store {
	t.Helper()
	s, err := storage.Open("shard", storage.Options{FS: vfs.NewMem(), Durability: storage.Sync})
	require.NoError(t, err)
	b := s.NewBatch()
	state, err := queue.New(queue.Config{}, b, queue.Recovered{})
	require.NoError(t, err)
	now := int64(1_000)
	enqueue := func(change func(*queue.NewTask)) {
		n := queue.NewTask{Queue: "q", Payload: []byte("p")}
		change(&n)
		out := make([]queue.Enqueued, 1)
		state.Enqueue(now, "t", []queue.NewTask{n}, out)
		require.NoError(t, out[0].Err)
	}
	claim := func(n int) (ds []queue.Delivery) {
		_, err := state.Subscribe(queue.Claim{Tenant: "t", Queues: []string{"q"}, Credit: n, Once: true}, nil)
		require.NoError(t, err)
		for _, g := range state.Dispatch(now, nil) {
			ds = append(ds, g.Deliveries...)
		}
		require.Len(t, ds, n)
		return ds
	}
	settle := func(d queue.Delivery, a queue.Action) {
		out := make([]error, 1)
		state.Settle(now, "t", []queue.Settlement{{Ref: d.Ref, Token: d.Token, Action: a, Error: "oops", Result: []byte("r")}}, out)
		require.NoError(t, out[0])
	}
	plain := func(*queue.NewTask) {}
	enqueue(func(n *queue.NewTask) { n.Key, n.RetentionMs = "key", 6_000_000 })
	for range 3 {
		enqueue(plain)
	}
	enqueue(func(n *queue.NewTask) { n.MaxAttempts = 1 })
	ds := claim(5)
	settle(ds[seqDone], queue.Complete)
	settle(ds[seqAgain], queue.Fail)
	settle(ds[seqDead], queue.Fail)
	now += 3_600_000
	state.Tick(now) // the leases that were not settled also end
	for _, d := range claim(3) {
		if d.Seq == seqReturned {
			settle(d, queue.Fail)
		}
	}
	enqueue(func(n *queue.NewTask) { n.TTLMs, n.Key, n.KeyScope = 5_000_000, "unique", queue.UntilFinished })
	enqueue(func(n *queue.NewTask) { n.TTLMs, n.DelayMs = 5_000_000, 4_000_000 })
	enqueue(func(n *queue.NewTask) { n.TTLMs, n.Priority = 5_000_000, 9 })
	require.Equal(t, uint64(seqMayExpire), claim(1)[0].Seq)
	state.Flush()
	storagetest.Commit(t, b)
	return s
}

func TestInconsistenciesAreNamed(t *testing.T) {
	ref := func(seq uint64) queue.Ref { return queue.Ref{Seq: seq} }
	gone := queue.Ref{Seq: seqDone}
	record := func(s *storage.Store) queue.Record {
		r, err := s.Recover()
		require.NoError(t, err)
		return r.Queues[0]
	}
	// keepHistory puts entries. The record of the queue counts some of them.
	keepHistory := func(s *storage.Store, b *storage.Batch, entries, counted uint64) {
		const first = 5
		for at := range entries {
			b.PutFinished(first+at, &queue.Finished{How: queue.FinishCompleted, LastError: "oops"})
		}
		r := record(s)
		r.Finished = queue.FinishedCounts{First: first, Next: first + counted, Bytes: counted * 132}
		b.PutQueue(&r)
	}
	dueOf := func(s *storage.Store, seq uint64) int64 {
		stored, _, err := s.LookHead(ref(seq))
		require.NoError(t, err)
		return stored.Progress.DueAtMs
	}
	// wait puts a task that waits for some tasks, with one finished one, of which recorded are counted.
	wait := func(s *storage.Store, b *storage.Batch, left, recorded uint32) queue.Ref {
		r := record(s)
		at := ref(r.NextSeq)
		b.PutTask(at, queue.Task{Delayed: true, Extras: &queue.Extras{Depends: &queue.Depends{Waits: true}}})
		b.PutProgress(at, queue.Progress{DueAtMs: queue.NeverMs})
		b.PutDue(at, queue.DelayedLane(0), queue.Due{DueAtMs: queue.NeverMs})
		b.PutWaiting(at, queue.Waiting{After: left, Recorded: recorded, Bytes: 7})
		b.PutDependency(at, &queue.Dependency{Outcome: queue.DependencyDone})
		r.NextSeq++
		r.Counts.Enqueued++
		r.Counts.Returned++
		r.Lanes |= 1 << queue.DelayedLane(0)
		r.Dependencies = queue.DependencyCounts{Waiting: 1, Bytes: 7}
		b.PutQueue(&r)
		return at
	}
	// link puts links of a task.
	link := func(s *storage.Store, b *storage.Batch, of queue.Ref, counted uint32, links uint64) {
		r := record(s)
		b.PutLinked(of, counted)
		for i := range links {
			b.PutLink(of, queue.ID{Ref: queue.Ref{Seq: i}})
		}
		r.Dependencies.Linked = 1
		b.PutQueue(&r)
	}
	for name, c := range map[string]struct {
		change func(s *storage.Store, b *storage.Batch)
		want   string
	}{
		"sound": {func(*storage.Store, *storage.Batch) {}, ""},
		"a task with headers": {func(s *storage.Store, b *storage.Batch) {
			r := record(s)
			n := queue.NewTask{Payload: []byte("p")}
			n.AddHeaders(map[string]string{"kind": "welcome"})
			b.PutTask(ref(r.NextSeq), queue.Task{HasHeaders: true, Payload: n.Payload})
			r.NextSeq++
			r.Counts.Enqueued++
			r.Counts.Fresh++
			r.Counts.Bytes += uint64(len(n.Payload))
			b.PutQueue(&r)
		}, ""},
		"a task is lost":        {func(_ *storage.Store, b *storage.Batch) { b.DropTask(ref(seqFresh)) }, "queue q of tenant t counts 7 tasks"},
		"a leased task is lost": {func(_ *storage.Store, b *storage.Batch) { b.DropTask(ref(seqAgain)) }, "seq 2) does not exist, but its progress does"},
		"a dead task is lost":   {func(_ *storage.Store, b *storage.Batch) { b.DropTask(ref(seqDead)); b.DropProgress(ref(seqDead)) }, "seq 4) does not exist, but its dead record does"},
		"attempts are left":     {func(_ *storage.Store, b *storage.Batch) { b.PutAttempt(gone, 1, queue.Attempt{}) }, "seq 0) does not exist, but its attempt does"},
		"a due record is lost":  {func(s *storage.Store, b *storage.Batch) { b.DropDue(ref(seqReturned), 0, dueOf(s, seqReturned)) }, "seq 3) is in no state"},
		"a due record is left":  {func(_ *storage.Store, b *storage.Batch) { b.PutDue(gone, 0, queue.Due{DueAtMs: 9}) }, "3 due records are stored, but tasks have 2"},
		"due in both lanes": {func(s *storage.Store, b *storage.Batch) {
			b.PutDue(ref(seqDelayed), 0, queue.Due{DueAtMs: dueOf(s, seqDelayed)})
		}, "3 due records are stored, but tasks have 2"},
		"due and leased": {func(s *storage.Store, b *storage.Batch) {
			b.PutDue(ref(seqAgain), 0, queue.Due{DueAtMs: dueOf(s, seqAgain)})
		}, "seq 2) is in no state"},
		"dead and returned":          {func(_ *storage.Store, b *storage.Batch) { b.PutDead(ref(seqReturned), queue.Dead{}) }, "seq 3) is in no state"},
		"a dead record is lost":      {func(_ *storage.Store, b *storage.Batch) { b.DropDead(ref(seqDead)) }, "seq 4) is in no state"},
		"a dead record is left":      {func(_ *storage.Store, b *storage.Batch) { b.PutDead(gone, queue.Dead{}) }, "seq 0) does not exist, but its dead record does"},
		"progress is lost":           {func(_ *storage.Store, b *storage.Batch) { b.DropProgress(ref(seqDelayed)) }, "seq 6) is in no state"},
		"progress is left":           {func(_ *storage.Store, b *storage.Batch) { b.PutProgress(gone, queue.Progress{}) }, "seq 0) does not exist, but its progress does"},
		"progress is left after all": {func(_ *storage.Store, b *storage.Batch) { b.PutProgress(queue.Ref{Queue: 9}, queue.Progress{}) }, "(queue 9, priority 0, seq 0) does not exist"},
		"a lease is lost":            {func(_ *storage.Store, b *storage.Batch) { b.DropLease(2) }, "is in no state"},
		"a lease is left":            {func(_ *storage.Store, b *storage.Batch) { b.PutLease(1, []queue.LeaseRef{{Ref: gone, Attempt: 1}}, 0) }, "lease 1 is stored, but all its tasks are settled"},
		"two leases": {func(_ *storage.Store, b *storage.Batch) {
			b.PutLease(1, []queue.LeaseRef{{Ref: ref(seqFresh), Attempt: 1}}, 0)
			b.PutLease(9, []queue.LeaseRef{{Ref: ref(seqFresh), Attempt: 1}}, 0)
		}, "seq 5) is leased twice"},
		"a lease of the future": {func(_ *storage.Store, b *storage.Batch) { b.PutMeta(queue.Meta{NextBatch: 2, NextQueue: 1}) }, "lease 2 is stored, but the next lease number is 2"},
		"a queue of the future": {func(_ *storage.Store, b *storage.Batch) { b.PutMeta(queue.Meta{NextBatch: 9}) }, "queue 0 is stored, but the next queue number is 0"},
		"the attempts go on":    {func(_ *storage.Store, b *storage.Batch) { b.PutAttempt(ref(seqReturned), 9, queue.Attempt{}) }, "seq 3) has a record of attempt 9, but used only 2"},
		"an expiry is lost":     {func(_ *storage.Store, b *storage.Batch) { b.DropExpiry(ref(seqFresh), 8_601_000) }, "seq 5) has a time to live, but no expiry record"},
		"an expiry is left":     {func(_ *storage.Store, b *storage.Batch) { b.PutExpiry(gone, 5) }, "4 expiry records are stored, but tasks have 3"},
		"an expiry of a leased task": {func(_ *storage.Store, b *storage.Batch) {
			b.DropExpiry(queue.Ref{Priority: 9, Seq: seqMayExpire}, 8_601_000)
		}, ""},
		"a counter is off": {func(s *storage.Store, b *storage.Batch) {
			r := record(s)
			r.Counts.Leased--
			r.Counts.Fresh++
			b.PutQueue(&r)
		}, "(2 never claimed, 2 returned, 2 leased, 1 dead; 7 bytes, 358 of history), but has 7 tasks (1 never claimed, 2 returned, 3 leased, 1 dead; 7 bytes, 358 of history)"},
		"bytes are off":               {func(s *storage.Store, b *storage.Batch) { r := record(s); r.Counts.Bytes++; b.PutQueue(&r) }, "8 bytes, 358 of history), but has"},
		"the history's bytes are off": {func(s *storage.Store, b *storage.Batch) { r := record(s); r.Counts.HistoryBytes--; b.PutQueue(&r) }, "7 bytes, 357 of history), but has"},
		"history is charged and gone": {func(_ *storage.Store, b *storage.Batch) { b.DropAttempts(ref(seqDead), 1, 1) }, "seq 4) is charged for 68 bytes of history, but has 0"},
		"a note is not charged":       {func(_ *storage.Store, b *storage.Batch) { b.PutNote(ref(seqDead), "half") }, "seq 4) is charged for a note of 0 bytes, but has one of 4"},
		"a note is left":              {func(_ *storage.Store, b *storage.Batch) { b.PutNote(gone, "half") }, "does not exist, but its note does"},
		"a leased task has a note": {func(s *storage.Store, b *storage.Batch) {
			b.PutNote(queue.Ref{Priority: 9, Seq: seqMayExpire}, "half")
			r := record(s)
			r.Counts.HistoryBytes += uint64(len("half"))
			b.PutQueue(&r)
		}, ""},
		"keys are charged and gone": {func(_ *storage.Store, b *storage.Batch) {
			b.PutSum(queue.Sum{Kind: queue.KeptKeys, Bucket: 5, Tenant: "t", Bytes: 7})
		}, "bucket 5 of keys is charged for 7 bytes, but has 0"},
		"unique keys are charged and gone": {func(_ *storage.Store, b *storage.Batch) {
			b.DropUnique(0, queue.HashKey("unique"), queue.Unlimited)
		}, "bucket 9223372036854775807 of unique keys is charged for 96 bytes, but has 0"},
		"a done task holds a unique key": {func(_ *storage.Store, b *storage.Batch) {
			b.PutUnique(0, queue.HashKey("left"), queue.UniqueRef{Ref: gone, Bucket: queue.Unlimited})
		}, "seq 0) is finished, but holds a unique key"},
		"a dead task holds a unique key": {func(_ *storage.Store, b *storage.Batch) {
			b.PutUnique(0, queue.HashKey("left"), queue.UniqueRef{Ref: ref(seqDead), Bucket: queue.Unlimited})
		}, "seq 4) is finished, but holds a unique key"},
		"a unique key with a window is left": {func(_ *storage.Store, b *storage.Batch) {
			b.PutUnique(0, queue.HashKey("left"), queue.UniqueRef{Ref: gone, Bucket: 5, ExpiresAtMs: 5})
		}, ""},
		"results are charged and gone": {func(_ *storage.Store, b *storage.Batch) {
			b.PutSum(queue.Sum{Kind: queue.KeptResults, Bucket: 7_200_000, Tenant: "t", Bytes: 70})
		}, "bucket 7200000 of results is charged for 70 bytes, but has 65"},
		"a count of due tasks is off": {func(s *storage.Store, b *storage.Batch) { r := record(s); r.Due[0].Tasks++; b.PutQueue(&r) }, "queue q of tenant t counts 1 due tasks of priority 0, but has 0"},
		"a count of delayed tasks is off": {func(s *storage.Store, b *storage.Batch) {
			r := record(s)
			r.Due[queue.DelayedLane(0)].Tasks++
			b.PutQueue(&r)
		}, "queue q of tenant t counts 1 due tasks of priority 0, but has 0"},
		"the history is off":             {func(s *storage.Store, b *storage.Batch) { r := record(s); r.Counts.Completed++; b.PutQueue(&r) }, "8 tasks were enqueued, but 2 are completed, 0 removed and 7 stored"},
		"a task of the future":           {func(s *storage.Store, b *storage.Batch) { r := record(s); r.NextSeq = 5; b.PutQueue(&r) }, "seq 5) is stored, but the next seq is 5"},
		"a fresh task behind the cursor": {func(s *storage.Store, b *storage.Batch) { r := record(s); r.Cursors[0] = 6; b.PutQueue(&r) }, "seq 5) is in no state"},
		"a recurring task of no queue": {func(_ *storage.Store, b *storage.Batch) {
			b.PutRecurring(7, "r", &queue.RecurringSpec{})
			b.PutRecurringProgress(7, "r", &queue.RecurringProgress{})
		}, `recurring task "r" belongs to queue 7, which does not exist`},
		"the progress of a recurring task is left": {func(_ *storage.Store, b *storage.Batch) {
			b.PutRecurringProgress(0, "r", &queue.RecurringProgress{})
		}, `recurring task "r" of queue 0 does not exist, but its progress does`},
		"a history": {func(s *storage.Store, b *storage.Batch) { keepHistory(s, b, 2, 2) }, ""},
		"an entry of the history is lost": {func(s *storage.Store, b *storage.Batch) {
			keepHistory(s, b, 3, 3)
			b.DropFinished(0, 6, 7)
		}, "entries 6 to 6 of the history of queue 0 are missing"},
		"the charge for the history is off": {func(s *storage.Store, b *storage.Batch) {
			keepHistory(s, b, 2, 1)
		}, "queue q of tenant t has a history from 5 to 7 of 264 bytes, but its record says from 5 to 6 of 132 bytes"},
		"the history of no queue": {func(_ *storage.Store, b *storage.Batch) {
			b.PutFinished(1, &queue.Finished{Ref: queue.Ref{Queue: 7}})
		}, "entry 1 of the history of queue 7 is stored, but the queue does not exist"},
		"a finished task of the future": {func(s *storage.Store, b *storage.Batch) {
			b.PutFinished(0, &queue.Finished{Ref: queue.Ref{Seq: 99}})
		}, "seq 99) is in the history, but the next seq is"},
		"a recurring task": {func(_ *storage.Store, b *storage.Batch) {
			b.PutRecurring(0, "r", &queue.RecurringSpec{})
			b.PutRecurringProgress(0, "r", &queue.RecurringProgress{})
		}, ""},
		"a waiting task": {func(s *storage.Store, b *storage.Batch) { wait(s, b, 1, 1) }, ""},
		"a link":         {func(s *storage.Store, b *storage.Batch) { link(s, b, ref(seqFresh), 1, 1) }, ""},
		"a waiting task without a number": {func(s *storage.Store, b *storage.Batch) {
			b.DropWaiting(wait(s, b, 1, 1))
		}, "seq 8) has dependencies, but what it waits for is not stored"},
		"a waiting task waits for none": {func(s *storage.Store, b *storage.Batch) { wait(s, b, 0, 1) }, "seq 8) is never due, but waits for no task"},
		"a dependency is lost": {func(s *storage.Store, b *storage.Batch) {
			wait(s, b, 1, 2)
		}, "seq 8) counts 2 records of what it waits for, but has 1"},
		"a dependency is left": {func(_ *storage.Store, b *storage.Batch) {
			b.PutDependency(gone, &queue.Dependency{Outcome: queue.DependencyDone})
		}, "seq 0) has a record of what it waits for, but no number of them"},
		"what a done task waited for is left": {func(_ *storage.Store, b *storage.Batch) {
			b.PutWaiting(gone, queue.Waiting{})
		}, "seq 0) does not exist, but what it waits for does"},
		"a link is lost":        {func(s *storage.Store, b *storage.Batch) { link(s, b, ref(seqFresh), 2, 1) }, "seq 5) counts 2 records of a link, but has 1"},
		"a link of a done task": {func(s *storage.Store, b *storage.Batch) { link(s, b, gone, 1, 1) }, "seq 0) does not exist, but a link does"},
		"the end of a task with links was not told yet": {func(s *storage.Store, b *storage.Batch) {
			link(s, b, gone, 2, 1)
			b.PutMessage(0, &queue.Message{Seq: 1, Kind: queue.EndedTask, Ref: gone, Tenant: "t"})
		}, ""},
		"a message of the future": {func(_ *storage.Store, b *storage.Batch) {
			b.PutMessage(3, &queue.Message{Seq: 99, Kind: queue.Link, Tenant: "t"})
		}, "message 99 to shard 3 has the number 99, but the next number is"},
		"the dependencies of a queue are off": {func(s *storage.Store, b *storage.Batch) {
			r := record(s)
			r.Dependencies.Linked = 1
			b.PutQueue(&r)
		}, "queue q of tenant t counts dependencies {Waiting:0 Linked:1 Bytes:0}, but has {Waiting:0 Linked:0 Bytes:0}"},
		"the dependencies of no queue": {func(_ *storage.Store, b *storage.Batch) {
			b.PutWaiting(queue.Ref{Queue: 7}, queue.Waiting{})
		}, "queue 7 does not exist, but its tasks have dependencies"},
		"a task of no queue": {func(_ *storage.Store, b *storage.Batch) { b.PutTask(queue.Ref{Queue: 7}, queue.Task{}) }, "(queue 7, priority 0, seq 0) belongs to a queue that does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			s := soundStore(t)
			defer func() { require.NoError(t, s.Close()) }()
			b := s.NewBatch()
			c.change(s, b)
			b.PutSystem("k", []byte("v"))
			storagetest.Commit(t, b)
			found, err := CheckConsistency(t.Context(), s, 10)
			require.NoError(t, err)
			if c.want == "" {
				assert.Empty(t, found)
				return
			}
			assert.Contains(t, strings.Join(found, "\n"), c.want)
			most, err := CheckConsistency(t.Context(), s, 1)
			require.NoError(t, err)
			assert.Len(t, most, 1)
		})
	}
}

func TestVerifyNamesInconsistencies(t *testing.T) {
	dir := newStore(t, func(b *storage.Batch) { b.PutProgress(queue.Ref{Queue: 1, Seq: 3}, queue.Progress{}) })
	_, err := Verify(t.Context(), dir)
	require.ErrorContains(t, err, dir+": task (queue 1, priority 0, seq 3) is in no state")
}

func TestVerifyNamesDamagedHeaders(t *testing.T) {
	damaged := queue.Task{HasHeaders: true, Payload: []byte{0, 9, 'k'}}
	dir := newStore(t, func(b *storage.Batch) { b.PutTask(queue.Ref{Queue: 1, Seq: 3}, damaged) })
	_, err := Verify(t.Context(), dir)
	require.ErrorContains(t, err, "key 7400000001000000000000000003: the headers are damaged")
}
