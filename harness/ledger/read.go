package ledger

import (
	"cmp"
	"fmt"
	"strings"
)

// Asked describes a read of a task or of the task's queue.
type Asked struct {
	By string // tenant that made the read
	// How is the predicate in the report of a misread, for example "listed the queue of". ""
	// selects "asked for".
	How string
	ID  string // ID that the target assigned to the task
	Identity
	Address // address to which the task was sent
}

// Answer is a task that a target returned in its answer to a read.
type Answer struct {
	ID, Tenant, Queue string
	Payload           []byte
}

// WatchReads makes the ledger record that the completion of a task was requested. Stored needs
// this. WatchReads must be called before the first task is sent. The caller must then call
// Completing for each task before it requests its completion. The record is one bit in the state of
// each task.
func (l *Ledger) WatchReads() { l.watchesReads = true }

// WatchesCompletions reports whether the caller must call Completing, because WatchReads, WatchUnique
// or WatchFinals was called or because there is a journal.
func (l *Ledger) WatchesCompletions() bool {
	return l.watchesReads || l.WatchesUnique() || l.batchSize > 0 || l.journal.kept.Load()
}

// Completing records that completions of tasks are about to be requested. From now on the target
// may have deleted the tasks.
func (l *Ledger) Completing(ids ...Identity) {
	for _, id := range ids {
		if !l.knows(id) {
			continue
		}
		a := &l.accounts[id.Producer]
		a.mu.Lock()
		a.mark(id.Sequence, completionAsked)
		a.freeKey(&l.unique, id)
		a.mu.Unlock()
	}
	if l.journal.kept.Load() && len(ids) > 0 {
		// after the marks, so that a checkpoint taken between the two contains the marks
		l.journal.note(ids)
	}
}

// Stored reports whether the target must still store a task: its enqueue was acknowledged, and no
// completion was requested. If Stored returns true after a read was answered, the target had to
// store the task during the whole time since the acknowledgement.
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

// Read counts a read that was correctly answered without a task.
func (l *Ledger) Read() { l.faults.reads.Add(1) }

// Misread counts a read with a wrong answer. It stores the reason unless samplesPerKind reasons are
// already stored.
func (l *Ledger) Misread(asked Asked, why string) {
	l.faults.reads.Add(1)
	l.faults.add(&l.faults.misread, 1, fmt.Sprintf("misread: tenant %s %s task %s (%s, sent to %s/%s): %s",
		asked.By, cmp.Or(asked.How, "asked for"), asked.ID, asked.Identity, asked.Tenant, asked.Queue, why))
}

// ReadBack checks a task that was returned in the answer to a read by the task's own tenant. It
// reports whether the task is the one that was enqueued. If it is not, ReadBack counts a Misread
// that lists the differences.
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

func (l *Ledger) misreadPayload(asked Asked, payload []byte) string {
	id, why := l.openOf(asked.Address, payload)
	if why == "" && (id.Round != asked.Round || id.word() != asked.word()) {
		why = fmt.Sprintf("the answer's payload is that of %s of round %016x", id, id.Round)
	}
	return why
}

// openOf opens the payload of a task that was read. The task must have been sent to the address.
// why describes the error of the payload, or is "".
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

// ListedBack checks the tasks that were returned in the answer to a list of a queue by the queue's
// own tenant. It reports whether each of them was sent to the queue. If not, it counts a Misread
// that names the first wrong task. asked names any task of the queue.
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
