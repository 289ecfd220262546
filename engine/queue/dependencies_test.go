package queue

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// after makes a task wait for tasks of the fixture's shard.
func after(t *testing.T, dead DeadDependency, refs ...Ref) func(*NewTask) {
	t.Helper()
	return func(n *NewTask) {
		var ids []string
		for _, ref := range refs {
			ids = append(ids, ID{Ref: ref}.String())
		}
		require.Nil(t, n.Depend(ids, 0, "", dead))
	}
}

// deliver delivers the messages of the shard to itself until there are none.
func (f *fixture) deliver() {
	f.t.Helper()
	for messages := f.journal.messagesTo(0); len(messages) > 0; messages = f.journal.messagesTo(0) {
		f.receive(messages[0], true)
	}
}

func (f *fixture) receive(m Message, own bool) {
	f.t.Helper()
	k := f.journal.known(&m, MessageRecordsMax)
	var of *Stored
	if stored, found := f.journal.look(m.Ref); found {
		of = &stored
	}
	f.Receive(m.Ref, of, &k, []Message{m}, own)
}

func (f *fixture) waits(ref Ref) bool {
	f.t.Helper()
	s, found := f.journal.look(ref)
	require.True(f.t, found)
	return s.Waits()
}

func TestDependenciesOfANewTaskAreChecked(t *testing.T) {
	id := func(seq uint64) string { return ID{Ref: Ref{Seq: seq}}.String() }
	many := make([]string, AfterMax+1)
	for i := range many {
		many[i] = id(uint64(i))
	}
	for want, set := range map[string]func(n *NewTask) *FieldError{
		"after: names 101 tasks: name at most 100":              func(n *NewTask) *FieldError { return n.Depend(many, 0, "", 0) },
		"after[1]: \"x\" has 1 characters":                      func(n *NewTask) *FieldError { return n.Depend([]string{id(1), "x"}, 0, "", 0) },
		"after[1]: " + id(1) + " is named twice":                func(n *NewTask) *FieldError { return n.Depend([]string{id(1), id(1)}, 0, "", 0) },
		"batch_size: must be 0 to 100000":                       func(n *NewTask) *FieldError { return n.Depend(nil, BatchSizeMax+1, "", 0) },
		"batch: \"x\" has 1 characters":                         func(n *NewTask) *FieldError { return n.Depend(nil, 0, "x", 0) },
		"after: is set together with batch":                     func(n *NewTask) *FieldError { return n.Depend([]string{id(1)}, 0, id(2), 0) },
		"dead_dependency: is not known":                         func(n *NewTask) *FieldError { return n.Depend([]string{id(1)}, 0, "", 9) },
		"dead_dependency: is set, but the task waits for none":  func(n *NewTask) *FieldError { return n.Depend(nil, 0, id(1), DieToo) },
		"delay_ms: is set on a task that waits for other tasks": func(n *NewTask) *FieldError { n.DelayMs = 5; return n.Depend([]string{id(1)}, 0, "", 0) },
		"not_before_ms: is set on a task that waits":            func(n *NewTask) *FieldError { n.NotBeforeMs = 5; return n.Depend(nil, 3, "", 0) },
	} {
		n := NewTask{Queue: "q"}
		bad := set(&n)
		if bad == nil {
			limits := DefaultLimits()
			bad = limits.CheckTask(1, &n, 0)
		}
		require.NotNil(t, bad, want)
		assert.Contains(t, bad.Error(), want)
	}
	n := NewTask{Queue: "q"}
	require.Nil(t, n.Depend(nil, 0, "", WaitForDead))
	assert.Nil(t, n.Dependencies)
	require.Nil(t, n.Depend(many[:AfterMax], BatchSizeMax, "", DieToo))
	require.Nil(t, n.Depend(nil, 5, id(3), RunAnyway))
	assert.Equal(t, &Dependencies{BatchSize: 5, Dead: RunAnyway, InBatch: true, Batch: ID{Ref: Ref{Seq: 3}}}, n.Dependencies)
}

// An id that the shard never gave to a task of the tenant is refused. One that it may have given in a
// deleted queue counts as missing.
func TestUnknownDependenciesAreRefused(t *testing.T) {
	f := newFixture(t, Config{Shards: 2})
	a := f.fill("a", 1)[0]
	out := make([]Enqueued, 1)
	f.Enqueue(f.now, "other", []NewTask{{Queue: "o"}}, out)
	for _, id := range []ID{
		{Ref: Ref{Queue: a.Queue, Seq: a.Seq + 1}}, {Ref: Ref{Queue: 99}}, {Ref: out[0].Ref}, {Shard: 2, Ref: a},
	} {
		for _, field := range []string{"after[0]", "batch"} {
			n := NewTask{Queue: "w"}
			if field == "batch" {
				require.Nil(t, n.Depend(nil, 0, id.String(), 0))
			} else {
				require.Nil(t, n.Depend([]string{id.String()}, 0, "", 0))
			}
			f.Enqueue(f.now, "t", []NewTask{n}, out)
			var bad *FieldError
			require.ErrorAs(t, out[0].Err, &bad)
			assert.Equal(t, field, bad.Field)
			assert.Contains(t, bad.Problem, id.String())
		}
	}
	_, exists := f.Named("t", "w")
	assert.False(t, exists, "a refused task creates no queue")
	f.cancel(a)
	q, _ := f.Named("t", "a")
	require.NoError(t, f.Delete(q))
	w := f.fill("w", 1, after(t, WaitForDead, a))[0]
	f.deliver()
	assert.False(t, f.waits(w))
}

// A task without dependencies has the same records as before, and finishes without a read.
func TestATaskWithoutDependenciesCostsNothing(t *testing.T) {
	f := newFixture(t, Config{})
	f.fill("q", 1)
	w := f.wait(1, "q")
	d := f.dispatch()[w][0]
	reads := &countingJournal{mapJournal: f.journal}
	f.env.journal = reads
	out := make([]error, 1)
	f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Complete}}, out)
	require.NoError(t, out[0])
	assert.Zero(t, reads.linked)
	to, _ := f.Outgoing()
	assert.Zero(t, to)
	q, _ := f.Named("t", "q")
	assert.Equal(t, DependencyCounts{}, q.record.Dependencies)
}

type countingJournal struct {
	*mapJournal
	linked int
}

func (j *countingJournal) FindLinked(ref Ref) bool {
	j.linked++
	return j.mapJournal.FindLinked(ref)
}

// A task has at most WaitersMax links. The next waiting task becomes a dead letter that says so.
func TestATaskHasABoundedNumberOfWaitingTasks(t *testing.T) {
	f := newFixture(t, Config{})
	a := f.fill("a", 1)[0]
	f.fill("w", 1, after(t, WaitForDead, a))
	f.deliver()
	f.journal.linked[a] = WaitersMax // as if there were others
	w := f.fill("w", 1, after(t, RunAnyway, a))[0]
	f.deliver()
	assert.Equal(t, DependencyDied, f.journal.dead[w].Reason)
	assert.Equal(t, fmt.Sprintf("10000 tasks have already named task %s in after: use a batch", ID{Ref: a}), f.journal.attempts[w][1].Error)
	assert.EqualValues(t, WaitersMax, f.journal.linked[a])
}

// A redelivered enqueue makes no links. A waiting task that another one replaces leaves nothing, and
// its batch counts it as removed.
func TestKeysOfWaitingTasks(t *testing.T) {
	f := newFixture(t, Config{})
	a := f.fill("a", 1)[0]
	keyed := func(n *NewTask) { n.Key, n.KeyScope, n.KeyConflict = "k", UntilFinished, Replace }
	plain := func(n *NewTask) { n.Key = "plain" }
	w := f.fill("w", 1, after(t, WaitForDead, a), plain)[0]
	sent := len(f.journal.messages)
	assert.Equal(t, w, f.fill("w", 1, after(t, WaitForDead, a), plain)[0])
	assert.Len(t, f.journal.messages, sent)

	last := f.fill("last", 1, func(n *NewTask) { require.Nil(t, n.Depend(nil, 1, "", RunAnyway)) })[0]
	member := func(n *NewTask) { require.Nil(t, n.Depend(nil, 2, ID{Ref: last}.String(), WaitForDead)) }
	replaced := f.fill("m", 1, member, keyed)[0]
	f.deliver()
	require.True(t, f.waits(last))
	require.NotEqual(t, replaced, f.fill("m", 1, keyed)[0])
	f.deliver()
	assert.False(t, f.waits(last))
	assert.Equal(t, DependencyRemoved, f.journal.dependencies[pairEntry{last, ID{Ref: replaced}}].Outcome)
	assert.NotContains(t, f.journal.waiting, replaced)
}

// A result that the tenant's quota has no room for is omitted. The charge ends with the waiting task.
func TestResultsOfDependenciesAreCharged(t *testing.T) {
	account := &fakeAccount{tenant: "t", broken: t.Fatalf, tasksMax: math.MaxInt64, leasesMax: math.MaxInt64}
	f := newFixture(t, Config{Account: func(string) Account { return account }})
	refs := f.fill("a", 2)
	before := account.bytes
	w := f.fill("w", 1, after(t, WaitForDead, refs...))[0]
	assert.Equal(t, QueueBytes("t", "w")+TaskBytes(1)+64+2*64, account.bytes-before)
	f.deliver()
	waiter := f.wait(3, "a", "w")
	out := make([]error, 1)
	for i, d := range f.dispatch()[waiter] {
		f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Complete, Result: make([]byte, 1_000)}}, out)
		require.NoError(t, out[0])
		f.Flush()
		if i == 1 {
			account.bytesMax = account.bytes
		}
		f.deliver()
	}
	account.bytesMax = 0
	assert.Len(t, f.journal.dependencies[pairEntry{w, ID{Ref: refs[0]}}].Result, 1_000)
	assert.Equal(t, Dependency{ID: ID{Ref: refs[1]}, Outcome: DependencyDone, Omitted: true}, f.journal.dependencies[pairEntry{w, ID{Ref: refs[1]}}])
	q, _ := f.Named("t", "w")
	assert.EqualValues(t, 64+2*64+1_000, q.record.Dependencies.Bytes)
	d := f.dispatch()[waiter][0]
	require.Equal(t, w, d.Ref)
	f.Settle(f.now, "t", []Settlement{{Ref: w, Token: d.Token, Action: Complete}}, out)
	require.NoError(t, out[0])
	require.ErrorIs(t, f.Delete(q), ErrQueueNotEmpty)
	f.deliver()
	f.Flush()
	assert.Equal(t, QueueBytes("t", "a")+QueueBytes("t", "w"), account.bytes)
	require.NoError(t, f.Delete(q))
}

// The retained result of a finished task is for its tenant alone.
func TestAResultIsForItsTenant(t *testing.T) {
	f := newFixture(t, Config{Shards: 2})
	a := f.fill("a", 1)[0]
	for tenant, want := range map[string]DependencyOutcome{"t": DependencyDone, "other": DependencyMissing} {
		k := Known{Result: &Result{RetainedUntilMs: f.now + 1, Value: []byte("r")}}
		f.Receive(a, nil, &k, []Message{{Kind: Link, Ref: a, Tenant: tenant, Of: ID{Shard: 1}}}, false)
		sent := f.journal.messagesTo(1)
		require.Len(t, sent, 1)
		assert.Equal(t, want, sent[0].Outcome, tenant)
		assert.Equal(t, want == DependencyDone, sent[0].Result != nil, tenant)
		f.Delivered(1, sent)
	}
}

// A link that arrives together with the last message that a waiting task waits for finds the task, which
// is then ready or dead.
func TestALinkToATaskThatWaitsNoMore(t *testing.T) {
	for _, dead := range []DeadDependency{RunAnyway, DieToo} {
		f := newFixture(t, Config{})
		a := f.fill("a", 1)[0]
		w := f.fill("w", 1, after(t, dead, a))[0]
		f.deliver()
		f.cancel(a)
		f.receive(f.journal.messagesTo(0)[0], true) // the end of a
		x := f.fill("x", 1, after(t, WaitForDead, w))[0]
		messages := f.journal.messagesTo(0)
		require.Len(t, messages, 2)
		stored, _ := f.journal.look(w)
		k := f.journal.known(&messages[1], MessageRecordsMax)
		f.Receive(w, &stored, &k, messages, true)
		f.deliver()
		assert.True(t, f.waits(x), "%v", dead)
		assert.Equal(t, map[bool]DependencyOutcome{true: DependencyDead}[dead == DieToo], f.journal.dependencies[pairEntry{x, ID{Ref: w}}].Outcome)
	}
}

// A waiting task whose time to live ends dies, and tasks that wait for it learn of it.
func TestTheTimeToLiveOfAWaitingTaskEnds(t *testing.T) {
	f := newFixture(t, Config{})
	a := f.fill("a", 1)[0]
	w := f.fill("w", 1, after(t, WaitForDead, a), func(n *NewTask) { n.TTLMs = 50 })[0]
	x := f.fill("x", 1, after(t, DieToo, w))[0]
	f.deliver()
	assert.EqualValues(t, math.MaxInt64, f.due.nextMs(), "a waiting task is never due")
	f.now += 50
	f.expire()
	assert.Equal(t, TimeToLiveOver, f.journal.dead[w].Reason)
	f.deliver()
	assert.Equal(t, DependencyDied, f.journal.dead[x].Reason)
	assert.True(t, strings.HasSuffix(f.journal.attempts[x][1].Error, "died"))
}
