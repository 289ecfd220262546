package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
	for says, spoil := range map[string]func(*Answer){
		"":                               func(*Answer) {},
		`the answer has the id "abd"`:    func(a *Answer) { a.ID = "abd" },
		`the answer has the tenant "t1"`: func(a *Answer) { a.Tenant = "t1" },
		`the answer has the queue "q1"`:  func(a *Answer) { a.Queue = "q1" },
		"the answer's payload has 64 bytes that do not match their checksum":         func(a *Answer) { a.Payload[40] ^= 1 },
		"the answer's payload has 63 bytes that do not match their checksum":         func(a *Answer) { a.Payload = a.Payload[:63] },
		"the answer's payload is that of producer 0 task 6 of round":                 func(a *Answer) { a.Payload = sealed(task(0, 6), "t0", "q0") },
		"the answer's payload is that of producer 0 task 5, sent to t1/q0":           func(a *Answer) { a.Payload = sealed(id, "t1", "q0") },
		"less than the header of 32":                                                 func(a *Answer) { a.Payload = nil },
		`the answer has the tenant "t1", the answer has the queue "q9"`:              func(a *Answer) { a.Tenant, a.Queue = "t1", "q9" },
		"misread: tenant t0 asked for task abc (producer 0 task 5, sent to t0/q0): ": func(a *Answer) { a.ID = "" },
	} {
		l := newLedger(1)
		got := right()
		spoil(&got)
		assert.Equal(t, says == "", l.ReadBack(asked, got), says)
		balance := l.Balance()
		assert.EqualValues(t, 1, balance.Reads)
		if says == "" {
			assert.Zero(t, balance.Misread, "%v", balance.Samples)
			continue
		}
		assert.EqualValues(t, 1, balance.Misread, says)
		if assert.Len(t, balance.Samples, 1) {
			assert.Contains(t, balance.Samples[0], says)
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
	for says, spoil := range map[string]func(*Answer){
		"":                                 func(*Answer) {},
		"it is a task of t1/q0":            func(a *Answer) { a.Tenant = "t1" },
		"it is a task of t0/q1":            func(a *Answer) { a.Queue = "q1" },
		"bytes that do not match":          func(a *Answer) { a.Payload[40] ^= 1 },
		"less than the header of 32":       func(a *Answer) { a.Payload = nil },
		"producer 0 task 6, sent to t1/q0": func(a *Answer) { a.Payload = sealed(task(0, 6), "t1", "q0") },
		"it is producer 0 task 6 of round": func(a *Answer) { a.Payload = sealed(another, "t0", "q0") },
	} {
		l := newLedger(1)
		last := entry(6)
		spoil(&last)
		assert.Equal(t, says == "", l.ListedBack(asked, []Answer{entry(4), last}), says)
		balance := l.Balance()
		assert.EqualValues(t, 1, balance.Reads, says)
		if says == "" {
			assert.Zero(t, balance.Misread)
			continue
		}
		assert.EqualValues(t, 1, balance.Misread, says)
		if assert.Len(t, balance.Samples, 1) {
			assert.Contains(t, balance.Samples[0], "misread: tenant t0 listed the queue of task abc (producer 0 task 5, sent to t0/q0): entry 2 of the answer is wrong: ")
			assert.Contains(t, balance.Samples[0], says)
		}
	}
	assert.True(t, newLedger(1).ListedBack(asked, nil), "an empty list")
}
