package queue

// maxBatch is the maximum number of tasks in one lease batch. The low batchBits bits of a token are
// the task's place in the batch.
const (
	batchBits = 12
	maxBatch  = 1 << batchBits
)

// quantum limits the number of tasks that one waiter gets in one turn of a queue.
const quantum = 64

// passedMax limits the number of waiters that one turn of a queue skips because they prefer another
// queue's task. A later turn continues with the next waiters. This limits a turn's duration.
const passedMax = 64

// grantRoom is the maximum initial capacity of a grant, in tasks.
const grantRoom = 512

// waiterBytesMax approximately limits the payload bytes that were delivered to a waiter and that
// Sent has not released yet. These payloads occupy memory.
const waiterBytesMax = 8 << 20

// Waiter is a worker stream or a claim that waits for tasks. It gets tasks while it has credit.
type Waiter struct {
	Owner any // the caller's value; the state does not use it

	leaseMs  uint64
	once     bool
	credits  int
	pool     Pool
	states   int   // number of states that use the pool
	starved  bool  // the pool was empty at the last Take
	drawn    bool  // the waiter is in State.drawn
	bytes    int64 // payload bytes that were delivered and that Sent has not released
	bytesMax int64
	subs     []*subscription
	turn     int    // index in subs of the queue that has the next turn
	round    uint64 // number of the current round of turns
	unit     int    // tasks per unit of weight in a queue's turn, in this round
	batch    *lease // filled by the running Dispatch
	grant    []Delivery
	held     bool // the waiter is in State.held
}

type subscription struct {
	waiter *Waiter
	queue  *Queue
	index  int // index in waiter.subs
	weight int
	round  uint64 // the waiter's round in which the queue last had a turn
	left   int    // number of tasks that it may still lease in that turn
	// listed is true while the subscription is in queue.waiting. before and after are then its
	// neighbours.
	listed        bool
	before, after *subscription
}

// Grant contains the tasks that one Dispatch leased to a waiter. A waiter of a Once claim is an
// exception: its single grant may contain tasks of several Dispatches.
type Grant struct {
	Waiter     *Waiter
	Deliveries []Delivery
}

// Claim describes the tasks that a waiter waits for.
type Claim struct {
	Tenant  string
	Queues  []string
	Weights []uint32 // one per queue, each at least 1; nil means equal weights
	LeaseMs uint64   // 0 means the LeaseMs of each task
	Credit  int      // number of tasks that the waiter may get before it needs more credit
	Once    bool     // the waiter gets only one grant
	// Pool, if not nil, is the source of the waiter's credit; Credit must then be 0. States is the
	// number of states that use the pool.
	Pool   Pool
	States int
	// BytesMax approximately limits the payload bytes that were delivered and that Sent has not
	// released yet; 0 means 8 MiB.
	BytesMax int64
}

// Subscribe adds a waiter. It returns ErrTooManyQueues if one of the queues does not exist and the
// state already contains the maximum number of such queues.
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

// Credit allows a waiter n more tasks. If the waiter uses a Pool, the next Dispatch returns the
// unused credit to the pool.
func (s *State) Credit(w *Waiter, n int) {
	w.credits += n
	w.starved = false
	s.noteDrawn(w)
	s.list(w)
}

// Sent reports that a waiter has released this many bytes of delivered payloads.
func (s *State) Sent(w *Waiter, bytes int64) {
	w.bytes -= bytes
	s.list(w)
}

func (w *Waiter) open() bool {
	return (w.credits > 0 || w.pool != nil && !w.starved) && w.bytes < w.bytesMax
}

// list adds an open waiter to its queues, starting with the queue that has the next turn.
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

// Unsubscribe ends a waiter. Its leases continue until they are settled or expire.
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

// Unfinished reports whether Dispatch has more work now. It ignores queues that wait for the answer
// to a Refill.
func (s *State) Unfinished() bool { return s.hot.len() > 0 }

// Dispatch leases ready tasks to waiters: round robin over the queues, and within a queue over its
// waiters. It appends one Grant for each waiter that got tasks. A Once waiter gets only one grant.
// Dispatch therefore retains the grant while it may still grow: while a Refill may add tasks, or
// after a turn that reached its limit.
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

// Exhausted reports whether the last Dispatch stopped at the limit of one turn (Config.turnMax).
// The next Dispatch continues.
func (s *State) Exhausted() bool { return s.exhausted }

// releaseHeld appends to out the retained grants that can no longer grow. Their waiters lose the
// rest of their credit.
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

// turns runs turns of the hot queues until no queue has both a task and a waiter for it. It returns
// the queues that must continue in the next Dispatch; they stay marked as hot.
func (s *State) turns() (blocked []*Queue) {
	var deferred []*Queue // queues whose waiters all prefer another queue's task
	progressed := false   // a task was leased since the deferred queues were last tried
	for {
		for s.hot.len() > 0 {
			// the other queues stay hot
			if s.given >= s.cfg.turnMax {
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
		// The preferred tasks may be leased by now. If no task was leased in this round, the
		// waiters take tasks of any queue.
		s.ignorePreference = !progressed
		progressed = false
		for _, q := range deferred {
			s.hot.push(q)
		}
		deferred = deferred[:0]
	}
}

type turn uint8

const (
	turnEmpty    turn = iota // the queue has no task or no waiter
	turnTaken                // a waiter got tasks
	turnBlocked              // a batch is full, or the shard's turn reached its limit
	turnAwaits               // a Refill must be answered first
	turnDeferred             // all waiters prefer another queue's task
)

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
			if !s.servable(q) { // do not take credit that other states could use
				return turnEmpty
			}
			s.draw(w)
			if w.starved {
				continue // the pool is empty: the waiter is no longer open
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
			q.waiting.rotate() // the queue's next turn starts with the next waiter
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

// allowance returns how many tasks the queue may lease to the waiter in its current turn. The
// credits of a waiter of several queues are divided among the queues by deficit round robin
// (Shreedhar and Varghese, SIGCOMM 1995): in each turn, a queue may lease a number of tasks in
// proportion to its weight. If the credits run out during a turn, the turn continues when there is
// new credit. Otherwise a waiter that gets one credit at a time would always spend it on the first
// queue.

func (sub *subscription) allowance() int {
	w := sub.waiter
	if len(w.subs) == 1 {
		return quantum
	}
	if sub.left <= 0 {
		// Since each turn costs time, turns are longer if there are more credits. The unit is the
		// same for all queues in a round. A new round starts when a queue would get its second turn
		// in the current round.
		if sub.round == w.round {
			w.round++
			w.unit = max(1, min(quantum, w.credits/(2*len(w.subs))))
		}
		sub.round = w.round
		sub.left = sub.share() * w.unit
	}
	return sub.left
}

// prefersAnother reports whether the waiter has few credits and should spend them on another queue,
// which has a ready task and an earlier turn.
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
