package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/golden"
)

// The target must have a task from the acknowledgement of its enqueue until its completion is
// requested.
func TestStored(t *testing.T) {
	l := newLedger(1)
	assert.False(t, l.WatchesCompletions())
	l.WatchReads()
	assert.True(t, l.WatchesCompletions())
	assert.False(t, l.Stored(task(0, 0)), "never sent")
	l.Sent(0, 4)
	assert.False(t, l.Stored(task(0, 0)), "not acknowledged")
	l.Enqueued(0, 0, 2)
	l.Refused(0, 2, 1)
	l.Unknown(0, 3, 1)
	assert.True(t, l.Stored(task(0, 0)))
	assert.True(t, l.Stored(task(0, 1)))
	assert.False(t, l.Stored(task(0, 2)), "refused")
	assert.False(t, l.Stored(task(0, 3)), "the outcome is unknown")
	l.Completing(task(0, 0))
	assert.False(t, l.Stored(task(0, 0)), "its completion was requested")
	l.CompletionRefused(task(0, 0))
	assert.False(t, l.Stored(task(0, 0)), "the completion may have taken effect although it was refused")
	l.Completed(task(0, 1))
	assert.False(t, l.Stored(task(0, 1)))
	foreign := task(0, 1)
	foreign.Round++
	l.Completing(foreign)
	assert.False(t, l.Stored(foreign), "of another round")
}

// The pages of completed tasks are released. Their tasks are not stored.
func TestATaskOfAPageThatIsGoneIsNotStored(t *testing.T) {
	l := newLedger(1)
	l.WatchReads()
	l.Enqueued(0, l.Sent(0, 2*pageTasks), 2*pageTasks)
	for i := range uint64(pageTasks) {
		l.Completing(task(0, i))
		l.Completed(task(0, i))
	}
	assert.False(t, l.Stored(task(0, 7)))
	assert.True(t, l.Stored(task(0, pageTasks)))
}

// Every difference between an answer and the requested task is reported.
func TestReadBack(t *testing.T) {
	own := NewAddress("t0", "q0")
	id := task(0, 5)
	asked := Asked{By: "t0", ID: "abc", Identity: id, Address: own}
	right := func() Answer { return Answer{ID: "abc", Tenant: "t0", Queue: "q0", Payload: sealed(id, "t0", "q0")} }
	s := golden.Cases(t, "testdata/reads.golden")
	for name, spoil := range map[string]func(*Answer){
		"right":             func(*Answer) {},
		"another id":        func(a *Answer) { a.ID = "abd" },
		"another tenant":    func(a *Answer) { a.Tenant = "t1" },
		"another queue":     func(a *Answer) { a.Queue = "q1" },
		"a changed payload": func(a *Answer) { a.Payload[40] ^= 1 },
		"a cut payload":     func(a *Answer) { a.Payload = a.Payload[:63] },
		"another task":      func(a *Answer) { a.Payload = sealed(task(0, 6), "t0", "q0") },
		"another address":   func(a *Answer) { a.Payload = sealed(id, "t1", "q0") },
		"no payload":        func(a *Answer) { a.Payload = nil },
		"two differences":   func(a *Answer) { a.Tenant, a.Queue = "t1", "q9" },
		"no id":             func(a *Answer) { a.ID = "" },
	} {
		l := newLedger(1)
		got := right()
		spoil(&got)
		assert.Equal(t, name == "right", l.ReadBack(asked, got), name)
		balance := l.Balance()
		assert.EqualValues(t, 1, balance.Reads)
		if name == "right" {
			assert.Zero(t, balance.Misread, "%v", balance.Samples)
			continue
		}
		assert.EqualValues(t, 1, balance.Misread, name)
		if assert.Len(t, balance.Samples, 1) {
			s.Equal(t, name, balance.Samples[0])
		}
	}
}

func TestReadsAreCounted(t *testing.T) {
	l := newLedger(1)
	l.Read()
	l.Read()
	l.Misread(Asked{By: "t1", ID: "x", Identity: task(0, 0), Address: NewAddress("t0", "q0")}, "cross-tenant read: got a task")
	balance := l.Balance()
	assert.EqualValues(t, 3, balance.Reads)
	assert.EqualValues(t, 1, balance.Misread)
	assert.Equal(t, []string{"misread: tenant t1 asked for task x (producer 0 task 0, sent to t0/q0): cross-tenant read: got a task"}, balance.Samples)
}

// Each entry of a list must be a task of the listed queue. The ledger does not know which tasks,
// and how many, the list must contain.
func TestListedBack(t *testing.T) {
	asked := Asked{By: "t0", How: "listed the queue of", ID: "abc", Identity: task(0, 5), Address: NewAddress("t0", "q0")}
	entry := func(sequence uint64) Answer {
		return Answer{ID: "x", Tenant: "t0", Queue: "q0", Payload: sealed(task(0, sequence), "t0", "q0")}
	}
	another := task(0, 6)
	another.Round++
	s := golden.Cases(t, "testdata/lists.golden")
	for name, spoil := range map[string]func(*Answer){
		"right":             func(*Answer) {},
		"another tenant":    func(a *Answer) { a.Tenant = "t1" },
		"another queue":     func(a *Answer) { a.Queue = "q1" },
		"a changed payload": func(a *Answer) { a.Payload[40] ^= 1 },
		"no payload":        func(a *Answer) { a.Payload = nil },
		"another address":   func(a *Answer) { a.Payload = sealed(task(0, 6), "t1", "q0") },
		"another round":     func(a *Answer) { a.Payload = sealed(another, "t0", "q0") },
	} {
		l := newLedger(1)
		last := entry(6)
		spoil(&last)
		assert.Equal(t, name == "right", l.ListedBack(asked, []Answer{entry(4), last}), name)
		balance := l.Balance()
		assert.EqualValues(t, 1, balance.Reads, name)
		if name == "right" {
			assert.Zero(t, balance.Misread)
			continue
		}
		assert.EqualValues(t, 1, balance.Misread, name)
		if assert.Len(t, balance.Samples, 1) {
			s.Equal(t, name, balance.Samples[0])
		}
	}
	assert.True(t, newLedger(1).ListedBack(asked, nil), "an empty list")
}
