package ledger

import (
	"cmp"
	"fmt"
	"strings"
)

// Asked is a read of a task or of its queue.
type Asked struct {
	By string // tenant that made the read
	// How is the predicate in the report of a misread, as in "listed the queue of"; "" means "asked
	// for".
	How string
	ID  string // the target's id of the task
	Identity
	Address // address that the task was sent to
}

// Answer is a task in a target's answer to a read.
type Answer struct {
	ID, Tenant, Queue string
	Payload           []byte
}

// WatchReads makes the ledger note the tasks whose completion was requested, which Stored needs. It
// must be called before the first task is sent. The caller must then call Completing for each task
// before it requests its completion. The note takes one bit of the state of each task.
func (l *Ledger) WatchReads() { l.watchesReads = true }

// WatchesCompletions reports whether the caller must call Completing, for WatchReads or for a
// journal.
func (l *Ledger) WatchesCompletions() bool { return l.watchesReads || l.journal.kept.Load() }

// Completing notes that completions of tasks are about to be requested. From now on the target may
// or may not have the tasks.
func (l *Ledger) Completing(ids ...Identity) {
	for _, id := range ids {
		if !l.knows(id) {
			continue
		}
		a := &l.accounts[id.Producer]
		a.mu.Lock()
		a.mark(id.Sequence, completionAsked)
		a.mu.Unlock()
	}
	if l.journal.kept.Load() && len(ids) > 0 {
		l.journal.note(ids) // after the marks, so that a checkpoint taken in between contains them
	}
}

// Stored reports whether the target must have a task: its enqueue was acknowledged, and no
// completion was requested. If it is true after a read was answered, it has been true since the
// acknowledgement.
func (l *Ledger) Stored(id Identity) bool {
	if !l.knows(id) {
		return false
	}
	a := &l.accounts[id.Producer]
	a.mu.Lock()
	defer a.mu.Unlock()
	at := a.find(id.Sequence)
	if id.Sequence >= a.sent || at < 0 {
		return false
	}
	return a.live[at].tasks[id.Sequence%pageTasks]&(acknowledged|completed|completionAsked) == acknowledged
}

// Read counts a read with a correct answer that contains no task.
func (l *Ledger) Read() { l.faults.reads.Add(1) }

// Misread counts a read with a wrong answer. It stores the reason unless there are samplesPerKind
// already.
func (l *Ledger) Misread(asked Asked, why string) {
	l.faults.reads.Add(1)
	l.faults.add(&l.faults.misread, 1, fmt.Sprintf("misread: tenant %s %s task %s (%s, sent to %s/%s): %s",
		asked.By, cmp.Or(asked.How, "asked for"), asked.ID, asked.Identity, asked.Tenant, asked.Queue, why))
}

// ReadBack checks a task that was the answer to a read by its own tenant. It reports whether the
// answer is the task as enqueued. Otherwise it counts a Misread that lists the differences.
func (l *Ledger) ReadBack(asked Asked, got Answer) bool {
	var wrong []string
	for _, field := range []struct{ name, want, got string }{
		{"id", asked.ID, got.ID}, {"tenant", asked.Tenant, got.Tenant}, {"queue", asked.Queue, got.Queue},
	} {
		if field.got != field.want {
			wrong = append(wrong, fmt.Sprintf("the answer has the %s %q", field.name, field.got))
		}
	}
	if why := l.misreadPayload(asked, got.Payload); why != "" {
		wrong = append(wrong, why)
	}
	if len(wrong) > 0 {
		l.Misread(asked, strings.Join(wrong, ", "))
		return false
	}
	l.Read()
	return true
}

// misreadPayload returns what is wrong with the payload of a task that was read, or "".
func (l *Ledger) misreadPayload(asked Asked, payload []byte) string {
	id, why := l.openOf(asked.Address, payload)
	if why == "" && (id.Round != asked.Round || id.word() != asked.word()) {
		why = fmt.Sprintf("the answer's payload is that of %s of round %016x", id, id.Round)
	}
	return why
}

// openOf opens the payload of a task that was read and must have been sent to the address. why
// describes what is wrong with it, or is "".
func (l *Ledger) openOf(to Address, payload []byte) (id Identity, why string) {
	id, route, err := open(payload)
	if err != nil {
		return id, fmt.Sprintf("the answer's payload is %v", err)
	}
	if route != to.hash {
		sentTo, named := l.routeOf(route)
		if !named {
			sentTo, named = l.misrouted(id, route)
		}
		if !named {
			return id, fmt.Sprintf("the answer's payload has %d bytes that do not match their checksum", len(payload))
		}
		return id, fmt.Sprintf("the answer's payload is that of %s, sent to %s/%s", id, sentTo.Tenant, sentTo.Queue)
	}
	return id, ""
}

// ListedBack checks the tasks that were the answer to a list of a queue by its own tenant. It
// reports whether each of them was sent to the queue. Otherwise it counts a Misread that names the
// first wrong task. asked names any task of the queue.
func (l *Ledger) ListedBack(asked Asked, got []Answer) bool {
	for i, task := range got {
		why := ""
		switch id, broken := l.openOf(asked.Address, task.Payload); {
		case task.Tenant != asked.Tenant || task.Queue != asked.Queue:
			why = fmt.Sprintf("it is a task of %s/%s", task.Tenant, task.Queue)
		case broken != "":
			why = broken
		case !l.knows(id):
			why = fmt.Sprintf("it is %s of round %016x", id, id.Round)
		default:
			continue
		}
		l.Misread(asked, fmt.Sprintf("entry %d of the answer is wrong: %s", i+1, why))
		return false
	}
	l.Read()
	return true
}
