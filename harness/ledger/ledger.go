// Package ledger accounts for every task of a round. It proves that each task completed exactly
// once with its payload intact, or reports the tasks that did not.
//
// The payload of a task contains the task's identity. Each producer has a separate account, with
// one page for every 256 consecutive tasks. A page is released once all of its tasks are settled.
// Memory is therefore proportional to the number of tasks in flight, not to the number of tasks
// sent.
package ledger

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/harness/result"
)

// Route is a queue of a tenant.
type Route struct {
	Tenant string
	Queue  string
}

// Ledger is the account of one round. All methods are safe for concurrent use. Calls for different
// producers do not block each other.
type Ledger struct {
	round    uint64
	accounts []account
	used     atomic.Int64 // accounts at this index and above were never used
	beside   []*Ledger    // read-only after Beside was called

	watchesReads bool   // read-only after WatchReads was called
	leavesTasks  bool   // read-only after LeaveTasks was called
	attemptsMax  uint32 // read-only after WatchAttempts was called; 0 if attempts are not watched
	batchSize    uint64 // read-only after WatchFinals was called; 0 if final tasks are not watched

	routesMu sync.RWMutex     // never locked together with another mutex of the ledger
	routes   map[uint64]Route // by routeHash

	// faults may be locked after an account's mutex, never before.
	faults faults

	journal journal
	unique  unique // unused unless WatchUnique was called
}

// New returns the ledger of the round with the given ID. Producers are numbered from 0. They send
// to the given routes. New panics unless producers is in 1..MaxProducers.
func New(round uint64, producers int, routes []Route) *Ledger {
	if producers < 1 || producers > MaxProducers {
		panic(fmt.Sprintf("ledger: %d producers, must be in 1..%d", producers, MaxProducers))
	}
	l := &Ledger{
		round:    round,
		accounts: make([]account, producers),
		routes:   make(map[uint64]Route, len(routes)),
	}
	for _, r := range routes {
		l.routes[routeHash(r.Tenant, r.Queue)] = r
	}
	return l
}

// Beside registers the ledgers of workloads that run at the same time with other tenants. If a task
// of such a ledger is claimed here, it counts as misrouted instead of damaged. Beside must be
// called before the first task is claimed.
func (l *Ledger) Beside(others ...*Ledger) { l.beside = others }

// LeaveTasks declares that no worker claims the tasks. Tasks whose enqueue was acknowledged remain
// on the server, and count as left instead of lost. LeaveTasks must be called before the first task
// is sent.
func (l *Ledger) LeaveTasks() { l.leavesTasks = true }

// routesMax bounds the number of routes of a ledger.
const routesMax = 1 << 17

// AddRoute adds a queue to which tasks are sent. If a task of a known queue is claimed from another
// queue, it counts as misrouted instead of damaged. A ledger stores at most 131,072 routes;
// AddRoute ignores further ones.
func (l *Ledger) AddRoute(r Route) {
	l.routesMu.Lock()
	defer l.routesMu.Unlock()
	if len(l.routes) < routesMax {
		l.routes[routeHash(r.Tenant, r.Queue)] = r
	}
}

// routeOf returns the route with the given hash. named is false if the ledger does not know the
// route.
func (l *Ledger) routeOf(hash uint64) (r Route, named bool) {
	l.routesMu.RLock()
	defer l.routesMu.RUnlock()
	r, named = l.routes[hash]
	return r, named
}

// account returns a producer's account and marks it as used.
func (l *Ledger) account(producer int) *account {
	for used := l.used.Load(); int64(producer) >= used; used = l.used.Load() {
		l.used.CompareAndSwap(used, int64(producer)+1)
	}
	return &l.accounts[producer]
}

// misrouted returns the route of a task that belongs to one of the ledgers passed to Beside.
func (l *Ledger) misrouted(id Identity, route uint64) (sentTo Route, found bool) {
	for _, other := range l.beside {
		if to, named := other.routeOf(route); named && other.knows(id) {
			return to, true
		}
	}
	return Route{}, false
}

// Round returns the ID of the round.
func (l *Ledger) Round() uint64 { return l.round }

// Producers returns the number of producers.
func (l *Ledger) Producers() int { return len(l.accounts) }

// Sent records that a producer is about to send n tasks. It returns the sequence number of the
// first task; the other numbers are consecutive. For each task the caller must call exactly one of
// Enqueued, Refused and Unknown. Sent panics if the producer has used all of its MaxSequences
// numbers, or if the ledger was restored.
func (l *Ledger) Sent(producer, n int) (first uint64) {
	if l.Restored() {
		panic("ledger: Sent was called on a restored ledger, which accepts no new tasks")
	}
	a := l.account(producer)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sent+uint64(n) > MaxSequences {
		panic(fmt.Sprintf("ledger: producer %d has sent %d tasks and has no sequence numbers left", producer, a.sent))
	}
	return a.send(uint64(n))
}

// Enqueued records that the enqueue of n tasks, numbered from first on, was acknowledged. Their
// completion may already have been acknowledged. Only the first answer for a task counts. Enqueued,
// Refused and Unknown panic if the tasks were not sent.
func (l *Ledger) Enqueued(producer int, first uint64, n int) {
	l.answer(producer, first, n, acknowledged)
}

// Refused records that the server refused to enqueue n tasks, numbered from first on. These tasks
// must never be delivered.
func (l *Ledger) Refused(producer int, first uint64, n int) {
	l.answer(producer, first, n, refused)
}

// Unknown records that the enqueue of n tasks, numbered from first on, will never be answered.
// These tasks may or may not be completed. Unknown returns how many of them ended with this call:
// see Completed.
func (l *Ledger) Unknown(producer int, first uint64, n int) (ended int) {
	return l.answer(producer, first, n, unknown)
}

func (l *Ledger) answer(producer int, first uint64, n int, flag uint8) (ended int) {
	if n <= 0 {
		return 0
	}
	a := &l.accounts[producer]
	a.mu.Lock()
	defer a.mu.Unlock()
	contradicted, ended := a.answer(first, uint64(n), flag)
	if contradicted > 0 {
		l.faults.add(&l.faults.corrupted, contradicted,
			fmt.Sprintf("refused: producer %d tasks %d to %d: %d completed although their enqueue was refused",
				producer, first, first+uint64(n)-1, contradicted))
	}
	return ended
}

// Verdict is the result of checking a claimed payload.
type Verdict uint8

const (
	// Sound is the verdict on an intact payload that belongs to a task of this round and was
	// claimed from the right tenant and queue.
	Sound Verdict = iota
	// Misplaced is the verdict on an intact payload that belongs to a task of this round and was
	// claimed from a tenant or queue that it was not sent to.
	Misplaced
	// Unreadable is the verdict on a payload that cannot be attributed to a task of this round.
	Unreadable
)

// Claimed checks a payload that was claimed from an address. Unless the payload is sound, it counts
// as corrupted or misrouted. The returned identity is valid unless the verdict is Unreadable.
// Claimed must be called once for each delivery. Whatever the verdict is, the caller should
// complete the task and then call Completed or CompletedUnreadable.
func (l *Ledger) Claimed(payload []byte, from Address) (Identity, Verdict) {
	id, route, err := open(payload)
	if err == nil && route == from.hash && l.knows(id) {
		l.inOrder(id, from)
		return id, Sound
	}
	var sample string
	sentTo, named := l.routeOf(route)
	if to, found := l.misrouted(id, route); found && err == nil {
		l.faults.add(&l.faults.misrouted, 1, fmt.Sprintf("misrouted: %s of another workload was sent to %s/%s and claimed from %s/%s",
			id, to.Tenant, to.Queue, from.Tenant, from.Queue))
		return id, Unreadable // this ledger has no account of the task
	}
	switch {
	case err != nil:
		sample = fmt.Sprintf("corrupted: a task claimed from %s/%s: %v", from.Tenant, from.Queue, err)
	case route != from.hash && !named:
		sample = fmt.Sprintf("corrupted: a task claimed from %s/%s: %d bytes that do not match their checksum", from.Tenant, from.Queue, len(payload))
	case !l.knows(id):
		sample = fmt.Sprintf("foreign: %s of round %016x, claimed from %s/%s: this is round %016x with %d producers",
			id, id.Round, from.Tenant, from.Queue, l.round, len(l.accounts))
	default:
		l.faults.add(&l.faults.misrouted, 1, fmt.Sprintf("misrouted: %s was sent to %s/%s and claimed from %s/%s",
			id, sentTo.Tenant, sentTo.Queue, from.Tenant, from.Queue))
		return id, Misplaced
	}
	l.Corrupted(sample)
	return id, Unreadable
}

func (l *Ledger) knows(id Identity) bool {
	return id.Round == l.round && uint64(id.Producer) < uint64(len(l.accounts))
}

// Completed records that the completions of tasks were acknowledged. A task that is already
// completed counts as duplicated. A task that was never sent or whose enqueue was refused counts as
// corrupted. However, if it was refused so long ago that its page was released, it counts as
// duplicated. Consecutive IDs of one producer are processed under one lock.
//
// Completed returns how many of the tasks ended with this call. A task ends exactly once: when it
// is refused, completed or dead, or when Unknown or CompletionUnknown is called for it.
func (l *Ledger) Completed(ids ...Identity) (ended int) {
	for len(ids) > 0 {
		if !l.knows(ids[0]) {
			l.Corrupted(fmt.Sprintf("foreign: %s of round %016x was completed in round %016x", ids[0], ids[0].Round, l.round))
			ids = ids[1:]
			continue
		}
		n := 1
		for n < len(ids) && ids[n].Producer == ids[0].Producer && ids[n].Round == l.round {
			n++
		}
		ended += l.completed(ids[:n])
		ids = ids[n:]
	}
	return ended
}

func (l *Ledger) completed(ids []Identity) (ended int) {
	a := &l.accounts[ids[0].Producer]
	for len(ids) > 0 {
		a.mu.Lock()
		found, n := expected, 0
		for n < len(ids) && found == expected {
			var first bool
			if found, first = a.complete(ids[n].Sequence); first {
				ended++
			}
			n++
		}
		a.mu.Unlock()
		if found != expected {
			l.unexpected(ids[n-1], found)
		}
		ids = ids[n:]
	}
	return ended
}

func (l *Ledger) unexpected(id Identity, found finding) {
	switch found {
	case repeated:
		why := "a completion was acknowledged again, or after the task was cancelled"
		if a := &l.accounts[id.Producer]; !a.cancels() {
			why = "a completion was acknowledged again"
		}
		if l.attemptsMax > 0 {
			why = "a completion was acknowledged after the task was completed or dead"
		}
		l.faults.add(&l.faults.duplicated, 1, fmt.Sprintf("duplicated: %s: %s", id, why))
	case refusedBefore:
		l.Corrupted(fmt.Sprintf("refused: %s: completed although its enqueue was refused", id))
	case neverSent:
		why := "it was never sent"
		if l.Restored() {
			why = fmt.Sprintf("it exceeds the %d tasks that may have been sent after the checkpoint", beyondMax)
		}
		l.Corrupted(fmt.Sprintf("foreign: %s: completed although %s", id, why))
	case expected:
	}
}

// CompletionRefused records that a completion of a task was refused. This is not a fault by itself:
// the task may be delivered and completed again.
func (l *Ledger) CompletionRefused(id Identity) {
	if !l.knows(id) {
		return
	}
	a := l.account(int(id.Producer))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.completionsRefused++
	a.mark(id.Sequence, completionRefused)
}

// CompletionUnknown records that the outcome of a completion will remain unknown. The task may or
// may not be completed again; in either case it is not lost. CompletionUnknown reports whether the
// task ended with this call: see Completed.
func (l *Ledger) CompletionUnknown(id Identity) (ended bool) {
	if !l.knows(id) {
		return false
	}
	a := &l.accounts[id.Producer]
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mark(id.Sequence, completionInDoubt)
}

// CompletedUnreadable records that the completion of a delivery with an unreadable payload was
// acknowledged. Some outstanding task will therefore never be delivered again, so the number of
// outstanding tasks is reduced by one. That task still counts as lost, because its identity cannot
// be proved.
func (l *Ledger) CompletedUnreadable() { l.faults.unreadableCompleted.Add(1) }

// Corrupted counts one delivery whose payload differs from the enqueued payload. It stores the
// sample unless samplesPerKind samples are already stored.
func (l *Ledger) Corrupted(sample string) {
	l.faults.add(&l.faults.corrupted, 1, sample)
}

// Totals contains counts of a round's tasks so far.
type Totals struct {
	Sent               uint64
	Enqueued           uint64 // acknowledged enqueues
	Refused            uint64
	Completed          uint64 // each task is counted once
	Dead               uint64 // counted only if attempts are watched
	Cancelled          uint64
	CompletionsRefused uint64
	// Outstanding is the number of sent tasks that may still be delivered because they are neither
	// refused, completed, dead nor cancelled.
	Outstanding uint64
	// Doubtful is the number of outstanding tasks that may never be delivered again, because the
	// outcome of their enqueue or of a completion is unknown.
	Doubtful uint64
	// InDoubt is the number of doubtful tasks whose enqueue was acknowledged.
	InDoubt uint64
}

// Totals returns the counts so far. It locks each used account in turn. Calling it a few hundred
// times a second is cheap enough; calling it once per task is not.
func (l *Ledger) Totals() Totals {
	var t Totals
	for i := range l.used.Load() {
		a := &l.accounts[i]
		a.mu.Lock()
		t.Sent += a.sent
		t.Enqueued += a.acknowledged
		t.Refused += a.refused
		t.Completed += a.completed
		t.Dead += a.dead
		t.Cancelled += a.cancelled
		t.CompletionsRefused += a.completionsRefused
		t.Doubtful += a.doubtful
		t.InDoubt += a.inDoubt
		a.mu.Unlock()
	}
	t.Outstanding = t.Sent - t.Refused - t.Completed - t.Dead - t.Cancelled
	t.Outstanding -= min(t.Outstanding, l.faults.unreadableCompleted.Load())
	return t
}

// Outstanding returns the Outstanding field of Totals.
func (l *Ledger) Outstanding() uint64 { return l.Totals().Outstanding }

// Balance returns the current account. Lost is the number of tasks whose enqueue was acknowledged
// and which have not ended: neither a completion nor the failure of the last attempt was
// acknowledged. Lost is valid only when no call is in flight. If LeaveTasks was called, these tasks
// count as Left instead. Completed counts tasks. Duplicated counts the completions that were
// acknowledged after the first completion of the same task.
func (l *Ledger) Balance() result.Ledger {
	totals := l.Totals()
	var lost, left uint64
	var samples []string
	used := int(l.used.Load())
	if l.leavesTasks {
		used, left = 0, totals.Enqueued-min(totals.Enqueued, totals.Completed)
	}
	for i := range used {
		l.lost(i, func(sequence uint64, task uint8) {
			lost++
			if len(samples) < samplesPerKind {
				samples = append(samples, l.lostSample(i, sequence, task))
			}
		})
	}
	balance := result.Ledger{
		Enqueued:  totals.Enqueued,
		Unknown:   totals.Sent - totals.Enqueued - totals.Refused,
		Completed: totals.Completed,
		InDoubt:   totals.InDoubt,
		Left:      left,
		Lost:      lost,
		Samples:   samples,
	}
	l.readAttempts(&balance)
	balance.Cancelled = totals.Cancelled
	balance.Taken = l.unique.taken.Load()
	l.faults.read(&balance)
	return balance
}

func (l *Ledger) lost(producer int, visit func(sequence uint64, task uint8)) {
	a := &l.accounts[producer]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost(visit)
}

// lostSample describes a lost task. The caller must hold the mutex of the producer's account.
func (l *Ledger) lostSample(producer int, sequence uint64, task uint8) string {
	id := Identity{Producer: uint32(producer), Sequence: sequence}
	if failed, again := l.accounts[producer].attempts[sequence]; again && !failed.back {
		return fmt.Sprintf("lost: %s: enqueue acknowledged, attempt %d failed, never claimed again", id, failed.number)
	}
	if task&completionRefused != 0 {
		return fmt.Sprintf("lost: %s: enqueue acknowledged, completion refused", id)
	}
	return fmt.Sprintf("lost: %s: enqueue acknowledged, never completed", id)
}
