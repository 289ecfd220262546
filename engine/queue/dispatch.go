package queue

import "slices"

// maxBatch is how many tasks one lease batch holds; a token has batchBits bits for the task's place.
const (
	batchBits = 12
	maxBatch  = 1 << batchBits
)

// quantum is how many tasks one waiter gets from one queue before the next queue's, or waiter's, turn.
const quantum = 64

// passedMax is how many waiters that prefer another queue's task one turn of a queue passes over. A later turn continues with the
// next waiters. This bounds the turn of a queue with many waiters.
const passedMax = 64

// grantRoom is how many tasks a grant has room for from the start, at most: beyond that it grows.
const grantRoom = 512

// spareRefsMax is the capacity, in leases, of the lists that are kept for lease batches under way.
const spareRefsMax = 4 * maxBatch

// waiterBytesMax is about how many bytes of payloads a waiter is given before it calls Sent for some of them: payloads that were given
// and not sent are held in memory.
const waiterBytesMax = 8 << 20

// Waiter takes tasks: it stands for a worker stream, or one claim. A waiter gets tasks while it has credit.
type Waiter struct {
	Owner any // the caller's value: the state does not use it

	leaseMs  uint64
	once     bool
	credits  int
	pool     Pool
	states   int   // how many states share the pool
	starved  bool  // the pool was empty
	drawn    bool  // is in State.drawn
	bytes    int64 // of payloads, given and not sent
	bytesMax int64
	subs     []*subscription
	turn     int    // in subs: whose queue is next
	round    uint64 // of turns
	unit     int    // how many tasks a queue's turn has for each of its weight, in this round
	batch    *lease // being filled by the running Dispatch
	grant    []Delivery
	held     bool // in State.held
}

type subscription struct {
	waiter *Waiter
	queue  *Queue
	index  int // in waiter.subs
	weight int
	round  uint64 // of its queue's last turn with the waiter
	left   int    // of that turn
	// listed says that the subscription is in queue.waiting, between before and after.
	listed        bool
	before, after *subscription
}

// Grant is the tasks that a waiter was given by one Dispatch.
type Grant struct {
	Waiter     *Waiter
	Deliveries []Delivery
}

// Claim says what a waiter waits for.
type Claim struct {
	Tenant  string
	Queues  []string
	Weights []uint32 // one for each queue, from 1; nil: all the same
	LeaseMs uint64   // 0: each task's own lease
	Credit  int      // how many tasks it may have before it is given more credit
	Once    bool     // the first grant is the only one
	// Pool, if not nil, is where the waiter's credit comes from; Credit must be 0 then. States is how many states share it.
	Pool   Pool
	States int
	// BytesMax is about how many bytes of payloads it is given before it says that it sent some; 0 means 8 MiB.
	BytesMax int64
}

// Subscribe makes a waiter.
func (s *State) Subscribe(c Claim, owner any) (*Waiter, error) {
	w := &Waiter{Owner: owner, leaseMs: c.LeaseMs, once: c.Once, pool: c.Pool, states: c.States, bytesMax: orDefault(c.BytesMax, waiterBytesMax)}
	for i, name := range c.Queues {
		q, err := s.awaited(c.Tenant, name)
		if err != nil {
			s.Unsubscribe(w)
			return nil, err
		}
		q.subscriptions++
		sub := &subscription{waiter: w, queue: q, index: i, weight: 1}
		if c.Weights != nil {
			sub.weight = int(c.Weights[i])
		}
		w.subs = append(w.subs, sub)
	}
	s.Credit(w, c.Credit)
	return w, nil
}

// Credit lets a waiter have n more tasks. One with a Pool returns there what the next Dispatch does not use.
func (s *State) Credit(w *Waiter, n int) {
	w.credits += n
	w.starved = false
	s.noteDrawn(w)
	s.list(w)
}

// Sent says that a waiter is done with so many bytes of the payloads it was given.
func (s *State) Sent(w *Waiter, bytes int64) {
	w.bytes -= bytes
	s.list(w)
}

// open reports whether the waiter may be given a task.
func (w *Waiter) open() bool {
	return (w.credits > 0 || w.pool != nil && !w.starved) && w.bytes < w.bytesMax
}

// list adds a waiter that may be given tasks to the waiters of its queues, beginning with the queue whose turn it is.
func (s *State) list(w *Waiter) {
	if !w.open() {
		return
	}
	for i := range w.subs {
		sub := w.subs[(w.turn+i)%len(w.subs)]
		if !sub.listed {
			sub.queue.waiting.push(sub)
		}
		s.heat(sub.queue)
	}
}

// Unsubscribe ends a waiter. Its leases stay until they are settled or expire.
func (s *State) Unsubscribe(w *Waiter) {
	w.credits = 0
	for _, sub := range w.subs {
		if sub.listed {
			sub.queue.waiting.remove(sub)
		}
		s.left(sub.queue)
	}
	w.subs = nil
}

// Unfinished reports whether the last Dispatch left work for another one. Queues that wait for the answer to a Refill do not count.
func (s *State) Unfinished() bool { return s.hot.len() > 0 }

// Dispatch leases ready tasks to waiters: round robin over the queues, and within a queue over its waiters. It appends one Grant for
// each waiter that got tasks. The grant of a waiter that may have only one is held back while the waiter Awaits more and while the
// turn's limit is reached, because the grant may still become larger.
func (s *State) Dispatch(now int64, out []Grant) []Grant {
	s.advance(now)
	s.reportFreed()
	s.exhausted = false
	blocked := s.turns()
	for _, q := range blocked {
		s.hot.push(q)
	}
	for i, w := range s.granted {
		s.fit(w.batch)
		s.journal.PutLease(w.batch.id, w.batch.refs)
		s.expiry.set(w.batch)
		w.batch, s.granted[i] = nil, nil
		switch {
		case !w.once:
			out = append(out, Grant{Waiter: w, Deliveries: w.grant})
			w.grant = nil
		case !w.held:
			w.held = true
			s.held = append(s.held, w)
		}
	}
	s.granted = s.granted[:0]
	if s.exhausted {
		s.given = 0
	} else {
		out = s.releaseHeld(out)
	}
	s.returnDrawn()
	return out
}

// Exhausted reports whether the last Dispatch granted as many leases, or left out as many closed waiters, as one turn may. The
// next Dispatch continues.
func (s *State) Exhausted() bool { return s.exhausted }

// releaseHeld appends the grants that were held back and cannot become larger. Their waiters lose the rest of their credit.
func (s *State) releaseHeld(out []Grant) []Grant {
	kept := s.held[:0]
	for _, w := range s.held {
		if s.Awaits(w) {
			kept = append(kept, w)
			continue
		}
		out = append(out, Grant{Waiter: w, Deliveries: w.grant})
		w.grant, w.held, w.credits = nil, false, 0
	}
	clear(s.held[len(kept):])
	s.held = kept
	return out
}

// turns gives hot queues turns until no queue has both a task and a waiter for it. It returns the queues that can get another turn only
// in the next Dispatch; they stay marked as hot.
func (s *State) turns() (blocked []*Queue) {
	var deferred []*Queue // queues whose waiters all prefer another queue's task
	progressed := false   // a task was leased since they were deferred
	for {
		for s.hot.len() > 0 {
			if s.given >= s.cfg.turnMax { // a queue keeps its place for the next Dispatch
				s.exhausted = true
				break
			}
			q := s.hot.pop()
			switch s.dispatchTurn(q) {
			case turnTaken:
				s.hot.push(q)
				progressed, s.ignorePreference = true, false
			case turnBlocked:
				blocked = append(blocked, q)
			case turnAwaits:
				q.hot, q.awaits = false, true
			case turnDeferred:
				deferred = append(deferred, q)
			case turnEmpty:
				q.hot = false
			}
		}
		if len(deferred) == 0 || s.exhausted {
			s.ignorePreference = false
			return append(blocked, deferred...)
		}
		// The preferred tasks may be gone by now. If no task was leased, the waiters take tasks of any queue.
		s.ignorePreference = !progressed
		progressed = false
		for _, q := range deferred {
			s.hot.push(q)
		}
		deferred = deferred[:0]
	}
}

// turn is the outcome of a queue's turn.
type turn uint8

const (
	turnEmpty    turn = iota // no task or no waiter is left
	turnTaken                // a waiter was given tasks
	turnBlocked              // a batch is full, or the turn of the shard is over
	turnAwaits               // a Refill must be answered first
	turnDeferred             // all waiters prefer another queue's task
)

// dispatchTurn gives the queue's next waiter a turn.
func (s *State) dispatchTurn(q *Queue) turn {
	if q.record.Paused || q.starved {
		return turnEmpty
	}
	passed := 0
	for q.waiting.len() > passed {
		sub := q.waiting.front()
		w := sub.waiter
		s.worked++
		if s.given >= s.cfg.turnMax {
			s.exhausted = true
			return turnBlocked
		}
		if !w.open() {
			s.given++
			q.waiting.remove(sub)
			continue
		}
		if len(w.grant) == maxBatch { // the next Dispatch continues
			return turnBlocked
		}
		if w.pool != nil {
			if !s.servable(q) { // do not draw credit that other states may need
				return turnEmpty
			}
			s.draw(w)
			if w.starved {
				continue // the pool is empty: the waiter is not open any more
			}
		}
		if s.prefersAnother(sub) {
			q.waiting.rotate()
			if passed++; passed == passedMax {
				return turnDeferred
			}
			continue
		}
		share := max(1, int(q.ready())/q.waiting.len())
		took, blocked := s.lease(q, w, min(sub.allowance(), share, w.credits, maxBatch-len(w.grant)))
		s.given += took
		s.worked += took
		if took > 0 {
			q.waiting.rotate() // the next turn is the next waiter's
			s.took(sub, took)
		}
		switch {
		case blocked:
			return turnAwaits
		case took > 0:
			return turnTaken
		}
		return turnEmpty
	}
	if passed > 0 {
		return turnDeferred
	}
	return turnEmpty
}

// A waiter of several queues shares its credits among them by deficit round robin (Shreedhar and Varghese,
// SIGCOMM 1995): a queue's turn is a number of tasks in proportion to its weight, and the rest of a turn is kept when credits run
// out. Without that, a waiter that gets one credit at a time would always spend it on the first queue.

// allowance is how many tasks the subscription may take in its turn.
func (sub *subscription) allowance() int {
	w := sub.waiter
	if len(w.subs) == 1 {
		return quantum
	}
	if sub.left <= 0 {
		// Many at once while credits are plentiful, since a turn costs time; the same for all queues of a round. A
		// round ends where a queue's turn comes again.
		if sub.round == w.round {
			w.round++
			w.unit = max(1, min(quantum, w.credits/(2*len(w.subs))))
		}
		sub.round = w.round
		sub.left = sub.share() * w.unit
	}
	return sub.left
}

// prefersAnother reports whether the waiter should spend its few credits on another queue, whose turn it is and which has a ready task.
func (s *State) prefersAnother(sub *subscription) bool {
	w := sub.waiter
	if len(w.subs) == 1 || s.ignorePreference || w.credits >= 2*len(w.subs) {
		return false
	}
	for i := w.turn; i != sub.index; i = (i + 1) % len(w.subs) {
		if s.servable(w.subs[i].queue) {
			return true
		}
	}
	return false
}

// took accounts for n tasks of a turn. When the turn is over, the next queue of the waiter has its turn.
func (s *State) took(sub *subscription, n int) {
	w := sub.waiter
	if len(w.subs) == 1 {
		return
	}
	sub.left -= n
	if sub.left > 0 && s.servable(sub.queue) {
		w.turn = sub.index
		return
	}
	sub.left = 0
	w.turn = (sub.index + 1) % len(w.subs)
}

// servable reports whether the queue has, or may have, a task to hand out now.
func (s *State) servable(q *Queue) bool {
	if q.record.Paused || q.starved {
		return false
	}
	for _, l := range q.lanes {
		if l == nil {
			continue
		}
		l.dropGone(s)
		if l.fresh.len() > 0 || !l.freshAll || l.nextDueMs() <= s.nowMs {
			return true
		}
	}
	return false
}

// ready is an upper bound of how many tasks are ready.
func (q *Queue) ready() uint64 { return q.record.Counts.Fresh + q.record.Counts.Returned }

// lease takes up to n tasks from the queue for the waiter, most urgent priority first.
func (s *State) lease(q *Queue, w *Waiter, n int) (took int, blocked bool) {
	allowed := q.account.Lease(n)
	if allowed == 0 {
		if s.servable(q) { // a queue without a task needs no retry
			s.starve(q, s.nowMs)
		}
		return 0, false
	}
	took, blocked = s.leaseAllowed(q, w, allowed)
	if took < allowed {
		q.account.EndLeases(allowed - took)
	}
	return took, blocked
}

func (s *State) leaseAllowed(q *Queue, w *Waiter, n int) (took int, blocked bool) {
	for p := MaxPriority; p >= 0 && took < n; p-- {
		l := q.lanes[p]
		if l == nil {
			continue
		}
		for took < n && w.open() {
			d := w.slot(s, q)
			ok, blocked := s.take(l, d)
			if !ok {
				s.takeBack(w)
				if blocked { // a lane of lower priority must wait
					return took, true
				}
				break
			}
			s.addLease(q, w, d)
			took++
		}
	}
	return took, false
}

// slot adds a zero delivery to the waiter's grant.
func (w *Waiter) slot(s *State, q *Queue) *Delivery {
	if w.grant == nil {
		switch {
		case w.once || s.cfg.Deliveries == nil:
			w.grant = make([]Delivery, 0, min(w.credits, max(1, int(q.ready())+1), grantRoom))
		case s.unused != nil:
			w.grant, s.unused = s.unused, nil
		default:
			w.grant = s.cfg.Deliveries()
		}
	}
	w.grant = append(w.grant, Delivery{})
	return &w.grant[len(w.grant)-1]
}

// takeBack removes the last delivery of the waiter's grant, for which there was no task. A waiter without deliveries keeps no list.
func (s *State) takeBack(w *Waiter) {
	w.grant = w.grant[:len(w.grant)-1]
	if len(w.grant) > 0 {
		return
	}
	if !w.once {
		s.unused = w.grant
	}
	w.grant = nil
}

// addLease leases the task of the last delivery of the waiter's grant.
func (s *State) addLease(q *Queue, w *Waiter, d *Delivery) {
	if w.batch == nil {
		w.batch = s.newLease()
		s.granted = append(s.granted, w)
		w.batch.refs = s.takeRefs()
	}
	b := w.batch
	d.ExpiresAtMs = s.nowMs + int64(orDefault(w.leaseMs, d.LeaseMs))
	d.Queue, d.Token = q, Token(b.id, len(b.refs))
	b.add(&d.LeaseRef)
	if before := s.noteLeased(q, d.Seq, d.Token); before != 0 {
		broken("task %d of queue %q is leased twice, with the tokens %d and %d", d.Seq, q.record.Name, before, d.Token)
	}
	w.credits--
	w.bytes += int64(d.Bytes)
	q.record.Counts.Leased++
	s.touch(q)
}

// takeRefs returns an empty list for the leases of a batch under way, one that was used before if there is one.
func (s *State) takeRefs() []LeaseRef {
	last := len(s.spareRefs) - 1
	if last < 0 {
		return nil
	}
	refs := s.spareRefs[last]
	s.spareRefs = s.spareRefs[:last]
	s.spareRefsRoom -= cap(refs)
	return refs
}

// fit copies the leases of a complete batch to a list of their number, since they may stand for long.
func (s *State) fit(b *lease) {
	refs := b.refs
	b.refs = slices.Clone(refs)
	if s.spareRefsRoom+cap(refs) <= spareRefsMax {
		clear(refs)
		s.spareRefs = append(s.spareRefs, refs[:0])
		s.spareRefsRoom += cap(refs)
	}
}
