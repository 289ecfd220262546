package shard

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/pronybench/prony/engine/queue"
)

// crashLedger records the clients' requests and the answers that they got. Each of these events has
// a number. A loss of power has two numbers: answers before the first must hold, and requests after
// the second cannot have taken effect.
type crashLedger struct {
	mu     sync.Mutex
	events int
	tasks  []*crashTask // in the order of their acknowledgements
	byRef  map[queue.Ref]*crashTask
	asked  map[string]bool // names of all tasks, across all losses of power
	purges []crashPurge
	order  []crashFact // acknowledged enqueues and removals, in order
	tokens []crashToken
	held   []crashLease
	keys   map[crashKey]crashKeyed
	set    map[string][]*crashSetting // policies, pauses and system records, by their subject
	dead   []queue.Ref                // dead tasks that a list or lookup returned
	issued crashIssued                // in earlier lives
	// historySince is the event of the acknowledgement of the policy of historyQueue; 0 means never.
	historySince int
}

// historyQueue is the queue whose policy, once it is set, keeps all finished tasks.
var historyQueue = crashQueue{"t0", "b"}

// crashIssued has the issued refs with the names of their tasks, and the queues by number.
type crashIssued struct {
	tasks  map[queue.Ref]string
	queues map[uint32]crashQueue
}

// add records an issued ref, and returns a description of a conflict, or "".
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

// issuedBy returns everything issued in earlier lives, and in this one up to an event.
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

// crashTask is a task whose enqueue was acknowledged.
type crashTask struct {
	crashQueue
	name        string
	ref         queue.Ref
	asked       int // 0 if that is not known
	acked       int
	retentionMs int64 // of the task; 0 means the queue's policy
	// removals are the requested completions and cancellations.
	removals []*crashRemoval
}

type crashRemoval struct {
	asked, acked int // event numbers; 0 means not yet
	did          bool
	frees        bool   // a cancellation or purge, which frees the task's key
	result       []byte // of a completion
	untilMs      int64  // the result is stored at least until then
}

// crashFact is one acknowledged enqueue or removal.
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
	token uint64 // the greatest token so far
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
	untilMs int64 // the key is stored at least until then
	freed   bool  // the task may have been cancelled or purged in an earlier life
}

// freed reports whether the task of a key may have been cancelled or purged, and whether it must
// have been.
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

// crashSetting is a requested value of a setting. Settings are listed in the order of the requests,
// which is also the order of the decisions.
type crashSetting struct {
	asked, acked int
	value        string
}

// settings returns the possible values of a setting: the last acknowledged value, and all values
// requested since.
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

// ask records a request to set a value. The caller calls answered when it is acknowledged.
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

// note calls f with the lock held and with the number of a new event.
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

// task returns the task of a ref. It creates an entry for an unknown one, because a task may be
// delivered before its enqueue is acknowledged.
func (l *crashLedger) task(ref queue.Ref) *crashTask {
	if l.byRef[ref] == nil {
		l.byRef[ref] = &crashTask{ref: ref}
	}
	return l.byRef[ref]
}

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

// tokenAt returns the greatest token that was issued before an event.
func (l *crashLedger) tokenAt(at int) (token uint64) {
	for _, t := range l.tokens {
		if t.at <= at {
			token = t.token
		}
	}
	return token
}

// mayBeGone reports whether a request before an event may have removed the task.
func (l *crashLedger) mayBeGone(t *crashTask, asked int) bool {
	return slices.ContainsFunc(t.removals, func(r *crashRemoval) bool { return r.asked <= asked && (r.acked == 0 || r.acked > asked || r.did) }) ||
		l.mayBePurged(t, asked)
}

func (l *crashLedger) mayBePurged(t *crashTask, asked int) bool {
	return slices.ContainsFunc(l.purges, func(p crashPurge) bool { return p.crashQueue == t.crashQueue && p.asked <= asked })
}

// isGone reports whether a removal of the task was acknowledged before an event.
func (t *crashTask) isGone(acked int) bool {
	return slices.ContainsFunc(t.removals, func(r *crashRemoval) bool { return r.acked != 0 && r.acked <= acked && r.did })
}

// inHistory reports whether a task is in the history once it has finished: it was enqueued after its
// queue got the history.
func (l *crashLedger) inHistory(t *crashTask) bool {
	return t.crashQueue == historyQueue && l.historySince > 0 && t.asked > l.historySince
}

// settled returns the ledger for the life after a loss of power. there reports whether a task
// survived.
func (l *crashLedger) settled(acked int, durable bool, there func(queue.Ref) bool) *crashLedger {
	n := newCrashLedger()
	n.asked = l.asked
	n.issued = l.issuedBy(acked)
	n.tokens = []crashToken{{0, l.tokenAt(acked)}}
	for _, t := range l.tasks {
		if there(t.ref) {
			left := &crashTask{crashQueue: t.crashQueue, name: t.name, ref: t.ref, acked: 1, retentionMs: t.retentionMs}
			if l.inHistory(t) {
				left.asked = 2
			}
			n.tasks = append(n.tasks, left)
			n.byRef[t.ref] = left
		}
	}
	if durable {
		if l.historySince > 0 && l.historySince <= acked {
			n.historySince = 1
		}
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
