package shard

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/fsck"
	"github.com/pronybench/prony/engine/storage/record"
)

// crashCheck checks a shard that was opened after a loss of power against the clients' ledger.
type crashCheck struct {
	*testing.T
	crashPoint
	l       *crashLedger
	durable bool // every acknowledged change must have survived
	store   *storage.Store
	shard   *Shard
	now     atomic.Int64
	// nextSeqs has the next seq of each queue when the store was opened. The store knows all tasks
	// with lower seqs.
	nextSeqs map[uint32]uint64
	drained  int
	what     string
}

func (c *crashCheck) run(d storage.Durability) {
	c.now.Store(c.nowMs)
	c.store, c.shard, c.nextSeqs = openCrashed(c.T, c.disk, d, c.now.Load)
	c.sound()
	c.depths()
	c.tasks()
	c.order()
	c.records()
	c.history()
	c.keysAndResults()
	c.ids()
	c.drain()
	c.shard.Close()
	require.NoError(c, c.store.Close())
}

func (c *crashCheck) sound() {
	found, err := fsck.CheckConsistency(c.Context(), c.store, 10)
	require.NoError(c, err, c.what)
	require.Empty(c, found, c.what)
}

// depths checks the figures by state against the stored tasks, once the shard has done all due
// work.
func (c *crashCheck) depths() {
	for {
		before := c.audit()
		got := map[queueName]storage.States{}
		for _, st := range receive(c.T, ask(c.T, c.shard.Stats)).value {
			got[queueName{st.Tenant, st.Name}] = storage.States{Ready: st.Ready, Delayed: st.Delayed, Leased: st.Leased, Dead: st.Dead}
		}
		after := c.audit()
		if !reflect.DeepEqual(before, after) {
			continue
		}
		for _, a := range after {
			require.Equal(c, a.Found, a.Counted, "%s: queue %s of %s", c.what, a.Name, a.Tenant)
			require.Equal(c, a.Found, got[queueName{a.Tenant, a.Name}], "%s: queue %s of %s", c.what, a.Name, a.Tenant)
		}
		return
	}
}

func (c *crashCheck) there(ref queue.Ref) bool {
	_, found, err := c.store.LookHead(ref)
	require.NoError(c, err, c.what)
	return found
}

// tasks checks that acknowledged tasks exist and removed tasks do not. In all modes, a task with a
// seq below the next one exists unless a client requested its removal.
func (c *crashCheck) tasks() {
	for _, t := range c.l.tasks {
		if t.acked > c.acked {
			continue
		}
		known := t.ref.Seq < c.nextSeqs[t.ref.Queue]
		require.True(c, known || !c.durable, "%s: task %s, %v, was acknowledged and is unknown", c.what, t.name, t.ref)
		switch there := c.there(t.ref); {
		case !known:
		case t.isGone(c.acked):
			require.False(c, there && c.durable, "%s: removed task %s, %v, exists again", c.what, t.name, t.ref)
		case !c.l.mayBeGone(t, c.asked):
			require.True(c, there, "%s: task %s, %v, is lost", c.what, t.name, t.ref)
		}
	}
}

// history checks that the tasks of the queue with a history are in it if and only if they have
// finished.
func (c *crashCheck) history() {
	finished := map[queue.Ref]queue.Finish{}
	snap := c.store.Snapshot()
	require.NoError(c, snap.Scan([]byte{record.PrefixFinished}, func(k, v []byte) (bool, error) {
		id, _, err := record.ParseFinishedKey(k)
		require.NoError(c, err, c.what)
		f, err := record.DecodeFinished(id, v)
		finished[f.Ref] = f.How
		return true, err
	}), c.what)
	require.NoError(c, snap.Close())
	for _, t := range c.l.tasks {
		if t.acked > c.acked || t.ref.Seq >= c.nextSeqs[t.ref.Queue] {
			continue
		}
		switch there := c.there(t.ref); {
		case there:
			require.Contains(c, []queue.Finish{0, queue.FinishDied}, finished[t.ref], "%s: task %s, %v, is stored and in the history", c.what, t.name, t.ref)
		case c.l.inHistory(t):
			require.NotZero(c, finished[t.ref], "%s: task %s, %v, has finished and is not in the history", c.what, t.name, t.ref)
		}
	}
}

// order checks that the surviving changes are a prefix of the acknowledged ones.
func (c *crashCheck) order() {
	lost := ""
	for _, f := range c.l.order {
		seen := f.task.ref.Seq < c.nextSeqs[f.task.ref.Queue]
		if f.removed {
			seen = seen && !c.there(f.task.ref)
		}
		if !seen && lost == "" {
			lost = f.task.name
		}
		require.False(c, seen && lost != "", "%s: task %s is lost, but a later acknowledgement, of %s (removed %v), is not", c.what, lost, f.task.name, f.removed)
	}
}

func (c *crashCheck) records() {
	if !c.durable {
		return
	}
	stats := map[crashQueue]queue.Stats{}
	for _, st := range receive(c.T, ask(c.T, c.shard.Stats)).value {
		stats[crashQueue{st.Tenant, st.Name}] = st
	}
	is := map[string]string{}
	for _, q := range crashQueues {
		st := stats[q]
		is["pause of "+fmt.Sprint(q)], is["policy of "+fmt.Sprint(q)] = fmt.Sprint(st.Paused), fmt.Sprint(st.PolicyVersion)
	}
	system, err := c.store.System()
	require.NoError(c, err)
	for _, r := range system {
		is["record "+r.Key] = string(r.Value)
	}
	for ref := range c.l.byRef {
		if t, found, err := c.store.LookHead(ref); found {
			require.NoError(c, err)
			is[priorityOf(ref)] = fmt.Sprint(t.Priority())
		}
	}
	for of := range c.l.set {
		may := c.l.settings(of, c.acked, c.asked)
		if _, stored := is[of]; !stored && strings.HasPrefix(of, crashPriority) {
			continue // the task is done or was removed
		}
		if !slices.Contains(may, "") { // otherwise it may never have been set
			require.Contains(c, may, is[of], "%s: the %s", c.what, of)
		}
	}
}

// keysAndResults checks that a key still belongs to its task unless the task was cancelled or
// purged, and that results are readable.
func (c *crashCheck) keysAndResults() {
	if !c.durable {
		return
	}
	for k, v := range c.l.keys {
		if v.acked > c.acked || v.untilMs <= c.now.Load() {
			continue
		}
		c.l.asked["again"] = true
		got := receive(c.T, ask(c.T, func(r func([]queue.Enqueued, error)) error {
			return c.shard.Enqueue(k.tenant, []queue.NewTask{{Queue: k.name, Key: k.key, Payload: []byte("again/")}}, r)
		}))
		require.NoError(c, got.err)
		stands := []queue.Enqueued{{Ref: v.ref, Duplicate: true}}
		switch may, must := c.l.freed(k, v, c.acked, c.asked); {
		case must:
			require.NotEqual(c, stands, got.value, "%s: key %v of a removed task", c.what, k)
		case !may:
			require.Equal(c, stands, got.value, "%s: key %v", c.what, k)
		}
	}
	for _, t := range c.l.tasks {
		for _, r := range t.removals {
			if r.acked == 0 || r.acked > c.acked || !r.did || r.untilMs <= c.now.Load() {
				continue
			}
			got := receive(c.T, ask(c.T, func(reply func(Awaited, error)) error {
				_, err := c.shard.Await(t.tenant, t.ref, reply)
				return err
			}))
			require.NoError(c, got.err, "%s: the result of %s", c.what, t.name)
			require.Equal(c, string(r.result), string(got.value.Result.Value), "%s: the result of %s", c.what, t.name)
		}
	}
}

// ids checks that new tasks, in the existing queues and in a new one, get ids that were never
// issued before.
func (c *crashCheck) ids() {
	issued := c.l.issuedBy(c.acked)
	c.l.asked["later"] = true
	for _, q := range append(c.queues(), crashQueue{"t1", "a new one"}) {
		got := receive(c.T, ask(c.T, func(r func([]queue.Enqueued, error)) error {
			return c.shard.Enqueue(q.tenant, []queue.NewTask{{Queue: q.name, Payload: []byte("later/")}, {Queue: q.name, Priority: 4, Payload: []byte("later/")}}, r)
		}))
		require.NoError(c, got.err)
		for _, e := range got.value {
			require.NoError(c, e.Err)
			require.Empty(c, issued.add(q, "later", e.Ref), c.what)
		}
	}
}

func (c *crashCheck) queues() []crashQueue {
	all := slices.Clone(crashQueues)
	for _, a := range c.audit() {
		if q := (crashQueue{a.Tenant, a.Name}); !slices.Contains(all, q) {
			all = append(all, q)
		}
	}
	return all
}

// drain completes all remaining tasks, including dead ones. Each stored task must be found exactly
// once and leave no record.
func (c *crashCheck) drain() {
	stored := 0
	for _, a := range c.audit() {
		stored += int(a.Stored)
	}
	for _, q := range crashQueues {
		got := receive(c.T, ask(c.T, func(r func(struct{}, error)) error { return c.shard.Pause(q.tenant, q.name, false, r) }))
		require.NoError(c, got.err)
	}
	seen := map[queue.Ref]bool{}
	token := c.l.tokenAt(c.acked) // tokens issued after the copy of the disk may be issued again
	for range 20 {
		c.now.Add(3_600_000) // past all leases, delays and times to live
		for _, q := range c.queues() {
			for c.claimSome(q, seen, token) {
			}
			c.redrive(q)
		}
		if len(seen) == stored {
			break
		}
	}
	require.Len(c, seen, stored, "%s: not all stored tasks are found", c.what)
	c.drained = stored
	for _, a := range c.audit() {
		require.Zero(c, a.Stored, c.what)
	}
	c.sound() // no task has a record
	from, err := c.store.Recover()
	require.NoError(c, err)
	require.Empty(c, from.Leases, c.what)
}

func (c *crashCheck) audit() []storage.AuditedQueue {
	audited, err := c.store.Audit(c.now.Load())
	require.NoError(c, err)
	return audited
}

func (c *crashCheck) claimSome(q crashQueue, seen map[queue.Ref]bool, token uint64) bool {
	var ds []queue.Delivery
	closed := make(chan struct{})
	sub, err := c.shard.Subscribe(queue.Claim{Tenant: q.tenant, Queues: []string{q.name}, Credit: 50, Once: true},
		func(d []queue.Delivery) { ds = d }, func(err error) { c.Errorf("the subscription failed: %v", err) }, nil)
	require.NoError(c, err)
	sub.Close(func() { close(closed) })
	receive(c.T, closed)
	if len(ds) == 0 {
		return false
	}
	batch := make([]queue.Settlement, len(ds))
	for i, d := range ds {
		require.False(c, seen[d.Ref], "%s: %v is delivered twice", c.what, d.Ref)
		seen[d.Ref] = true
		require.Greater(c, d.Token, token, "%s: the token may have been issued before", c.what)
		require.True(c, c.l.asked[taskName(d.Payload)], "%s: %q was never enqueued", c.what, d.Payload)
		if t := c.l.byRef[d.Ref]; t != nil && t.acked != 0 && t.acked <= c.acked && c.durable {
			require.Equal(c, t.name, taskName(d.Payload), c.what)
		}
		batch[i] = queue.Settlement{Ref: d.Ref, Token: d.Token, Action: queue.Complete}
	}
	got := receive(c.T, ask(c.T, func(r func([]error, error)) error { return c.shard.Settle(q.tenant, batch, r) }))
	require.NoError(c, got.err)
	for _, err := range got.value {
		require.NoError(c, err, c.what)
	}
	return true
}

func (c *crashCheck) redrive(q crashQueue) {
	got := receive(c.T, ask(c.T, func(r func(Listed, error)) error {
		return c.shard.List(List{Tenant: q.tenant, Queue: q.name, State: Dead, Limit: 1_000}, r)
	}))
	require.NoError(c, got.err)
	if len(got.value.Tasks) == 0 {
		return
	}
	refs := make([]queue.Ref, len(got.value.Tasks))
	for i, f := range got.value.Tasks {
		refs[i] = f.Ref
	}
	did := receive(c.T, ask(c.T, func(r func([]error, error)) error { return c.shard.Change(Redrive, q.tenant, refs, r) }))
	require.NoError(c, did.err)
	for _, err := range did.value {
		require.NoError(c, err, c.what)
	}
}
