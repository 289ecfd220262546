package shard

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/pronybench/prony/engine/queue"
)

// crashLedger is what the clients of a shard know: what they asked for, and what they were told. Each of these events
// has a number. A loss of power has two: what was told before the first must hold, and nothing that was asked after
// the second can have happened.
type crashLedger struct {
	mu     sync.Mutex
	events int
	tasks  []*crashTask // in the order in which their enqueues were acknowledged
	byRef  map[queue.Ref]*crashTask
	asked  map[string]bool // names of all tasks ever, across all losses of power
	purges []crashPurge
	order  []crashFact // acknowledged enqueues and removals, in their order
	tokens []crashToken
	held   []crashLease
	keys   map[crashKey]crashKeyed
	set    map[string][]*crashSetting // policies, pauses and the node's own records, by what they are of
	dead   []queue.Ref                // those that were seen
	issued crashIssued                // in the lives before this one
}

// crashIssued has the refs that clients got, with the names of their tasks, and the queues by number.
type crashIssued struct {
	tasks  map[queue.Ref]string
	queues map[uint32]crashQueue
}

// add records a ref that a client got, and returns what is wrong with the ref, or "".
func (i *crashIssued) add(q crashQueue, name string, ref queue.Ref) (problem string) {
	if was, found := i.tasks[ref]; found && was != name {
		return fmt.Sprintf("%v was issued for task %s, and again for %s", ref, was, name)
	}
	if was, found := i.queues[ref.Queue]; found && was != q {
		return fmt.Sprintf("queue number %d was issued for %v, and again for %v", ref.Queue, was, q)
	}
	i.tasks[ref], i.queues[ref.Queue] = name, q
	return ""
}

// issuedBy returns what was issued in all lives up to an event of this one.
func (l *crashLedger) issuedBy(acked int) crashIssued {
	i := crashIssued{maps.Clone(l.issued.tasks), maps.Clone(l.issued.queues)}
	for _, t := range l.tasks {
		if t.acked <= acked {
			i.add(t.crashQueue, t.name, t.ref)
		}
	}
	return i
}

type crashQueue struct{ tenant, name string }

// crashTask is a task that a client enqueued and was told the ref of.
type crashTask struct {
	crashQueue
	name        string
	ref         queue.Ref
	acked       int
	retentionMs int64 // as it says itself; 0: its queue's policy
	// removals are the completions and cancellations that were asked for.
	removals []*crashRemoval
}

type crashRemoval struct {
	asked, acked int // 0: not yet
	did          bool
	frees        bool   // it is a cancellation or a purge, which frees the task's key
	result       []byte // of a completion
	untilMs      int64  // the result is kept at least so long
}

// crashFact is one acknowledged enqueue, or removal of a task.
type crashFact struct {
	acked   int
	task    *crashTask
	removed bool
}

type crashPurge struct {
	crashQueue
	asked int
}

type crashToken struct {
	at    int
	token uint64 // the greatest so far
}

type crashLease struct {
	crashQueue
	queue.Delivery
}

type crashKey struct {
	crashQueue
	key string
}

type crashKeyed struct {
	ref     queue.Ref
	acked   int
	untilMs int64 // it is remembered at least so long
	freed   bool  // its task may have been cancelled or purged in an earlier life
}

// freed reports whether the task of a key may have been cancelled or purged, and whether it must have been.
func (l *crashLedger) freed(k crashKey, v crashKeyed, acked, asked int) (may, must bool) {
	may = v.freed || slices.ContainsFunc(l.purges, func(p crashPurge) bool { return p.crashQueue == k.crashQueue && p.asked <= asked })
	if t := l.byRef[v.ref]; t != nil {
		for _, r := range t.removals {
			may = may || r.frees && r.asked <= asked
			must = must || r.frees && r.did && r.acked != 0 && r.acked <= acked
		}
	}
	return may || must, must
}

// crashSetting is a value that something was set to. They are in the order in which they were asked for, which is
// that of the decisions.
type crashSetting struct {
	asked, acked int
	value        string
}

// settings returns what something may be set to: the last value that was acknowledged, or one asked for since.
func (l *crashLedger) settings(of string, acked, asked int) (may []string) {
	all := l.set[of]
	from := 0
	for i, s := range all {
		if s.acked != 0 && s.acked <= acked {
			from = i
			may = may[:0]
		}
		if s.asked <= asked && i >= from {
			may = append(may, s.value)
		}
	}
	if from == 0 && (len(all) == 0 || all[0].acked == 0 || all[0].acked > acked) {
		return append(may, "")
	}
	return may
}

// ask notes that something is set, and returns what notes the answer.
func (l *crashLedger) ask(of, value string) (answered func()) {
	s := &crashSetting{value: value}
	l.note(func(at int) {
		s.asked = at
		l.set[of] = append(l.set[of], s)
	})
	return func() { l.note(func(at int) { s.acked = at }) }
}

func newCrashLedger() *crashLedger {
	return &crashLedger{
		byRef: map[queue.Ref]*crashTask{}, asked: map[string]bool{}, keys: map[crashKey]crashKeyed{},
		set: map[string][]*crashSetting{}, events: 1,
		issued: crashIssued{map[queue.Ref]string{}, map[uint32]crashQueue{}},
	}
}

// note numbers an event and has it noted.
func (l *crashLedger) note(f func(at int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events++
	f(l.events)
}

func (l *crashLedger) now() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events
}

// task returns what is known of a task. It may be delivered before its enqueue is acknowledged.
func (l *crashLedger) task(ref queue.Ref) *crashTask {
	if l.byRef[ref] == nil {
		l.byRef[ref] = &crashTask{ref: ref}
	}
	return l.byRef[ref]
}

// delivered notes leased tasks.
func (l *crashLedger) delivered(q crashQueue, ds []queue.Delivery) {
	l.note(func(at int) {
		for _, d := range ds {
			last := uint64(0)
			if n := len(l.tokens); n > 0 {
				last = l.tokens[n-1].token
			}
			l.tokens = append(l.tokens, crashToken{at, max(last, d.Token)})
			l.held = append(l.held, crashLease{crashQueue{q.tenant, d.Queue.Name()}, d})
		}
	})
}

// tokenAt is the greatest token that was handed out before an event.
func (l *crashLedger) tokenAt(at int) (token uint64) {
	for _, t := range l.tokens {
		if t.at <= at {
			token = t.token
		}
	}
	return token
}

// mayBeGone says that somebody asked for what may have removed the task, before an event.
func (l *crashLedger) mayBeGone(t *crashTask, asked int) bool {
	return slices.ContainsFunc(t.removals, func(r *crashRemoval) bool { return r.asked <= asked && (r.acked == 0 || r.acked > asked || r.did) }) ||
		l.mayBePurged(t, asked)
}

func (l *crashLedger) mayBePurged(t *crashTask, asked int) bool {
	return slices.ContainsFunc(l.purges, func(p crashPurge) bool { return p.crashQueue == t.crashQueue && p.asked <= asked })
}

// isGone says that a client was told, before an event, that the task was removed.
func (t *crashTask) isGone(acked int) bool {
	return slices.ContainsFunc(t.removals, func(r *crashRemoval) bool { return r.acked != 0 && r.acked <= acked && r.did })
}

// settled makes a ledger of what is left to know after a loss of power: the clients look at what is there.
func (l *crashLedger) settled(acked int, durable bool, there func(queue.Ref) bool) *crashLedger {
	n := newCrashLedger()
	n.asked = l.asked
	n.issued = l.issuedBy(acked)
	n.tokens = []crashToken{{0, l.tokenAt(acked)}}
	for _, t := range l.tasks {
		if there(t.ref) {
			left := &crashTask{crashQueue: t.crashQueue, name: t.name, ref: t.ref, acked: 1, retentionMs: t.retentionMs}
			n.tasks = append(n.tasks, left)
			n.byRef[t.ref] = left
		}
	}
	if durable {
		for k, v := range l.keys {
			if v.acked != 0 && v.acked <= acked {
				v.freed, _ = l.freed(k, v, acked, math.MaxInt)
				v.acked = 1
				n.keys[k] = v
			}
		}
	}
	return n
}
