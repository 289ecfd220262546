package ledger

import (
	"cmp"
	"fmt"
	"strings"
)

// Asked is a read of a task, or of its queue.
type Asked struct {
	By string // the tenant that asked
	// How the tenant asked, as in "listed the queue of", for what is said of a misread; "" is "asked for".
	How string
	ID  string // the task's, as the target gave it
	Identity
	Address // that the task was sent to
}

// Answer is a task as a target answered a read.
type Answer struct {
	ID, Tenant, Queue string
	Payload           []byte
}

// WatchReads makes the ledger remember for which tasks a completion was asked, so that Stored can tell. It must be called before the
// first task is sent, and Completing for each task before its completion is asked for. It takes a bit of what is known of each task.
func (l *Ledger) WatchReads() { l.watchesReads = true }

// WatchesCompletions reports whether Completing must be called, for WatchReads or for a journal.
func (l *Ledger) WatchesCompletions() bool { return l.watchesReads || l.journal.kept.Load() }

// Completing says that completions of tasks are about to be asked for: from now on the target may have the tasks or not.
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
		l.journal.note(ids) // after the marks: a checkpoint that is taken between has them
	}
}

// Stored reports whether the target must have a task: its enqueue was acknowledged, and no completion was asked for. If it is true after a
// read was answered, it was true all the time since the acknowledgement.
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

// Read counts a read that was answered as it must be, and whose answer has no task.
func (l *Ledger) Read() { l.faults.reads.Add(1) }

// Misread counts a read that was answered as it must not be, and keeps why if there is room.
func (l *Ledger) Misread(asked Asked, why string) {
	l.faults.reads.Add(1)
	l.faults.add(&l.faults.misread, 1, fmt.Sprintf("misread: tenant %s %s task %s (%s, sent to %s/%s), and %s",
		asked.By, cmp.Or(asked.How, "asked for"), asked.ID, asked.Identity, asked.Tenant, asked.Queue, why))
}

// ReadBack counts the read of a task by its own tenant that was answered with a task, and reports whether that is the task, as it was
// enqueued. If not, the read is a Misread that says what differs.
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

// misreadPayload says what is wrong with the payload of a task that was read, and "" if nothing is.
func (l *Ledger) misreadPayload(asked Asked, payload []byte) string {
	id, why := l.openOf(asked.Address, payload)
	if why == "" && (id.Round != asked.Round || id.word() != asked.word()) {
		why = fmt.Sprintf("the answer's payload is that of %s of round %016x", id, id.Round)
	}
	return why
}

// openOf opens the payload of a task that was read and must have been sent to an address. why says what is wrong with it, and is "" if nothing
// is.
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

// ListedBack counts the read of the tasks of a queue by its own tenant, and reports whether each task of the answer was sent to the queue. If
// not, the read is a Misread that says what the first other task is. asked names any task of the queue.
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
