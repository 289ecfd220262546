package queue

// waiterBytesMax approximately limits the payload bytes that were delivered to a waiter and that
// Sent has not released yet. These payloads occupy memory.
const waiterBytesMax = 8 << 20

// Waiter is a worker stream or a claim that waits for tasks. It gets tasks while it has credit.
type Waiter struct {
	Owner any // the caller's value; the state does not use it

	leaseMs  uint64
	holder   uint32 // the key in dispatcher.holders; 0 for a Once waiter
	once     bool
	credits  int
	pool     Pool
	states   int   // number of states that use the pool
	starved  bool  // the pool was empty at the last Take
	drawn    bool  // the waiter is in dispatcher.drawn
	bytes    int64 // payload bytes that were delivered and that Sent has not released
	bytesMax int64
	subs     []*subscription
	turn     int    // index in subs of the queue that has the next turn
	round    uint64 // number of the current round of turns
	unit     int    // tasks per unit of weight in a queue's turn, in this round
	batch    *lease // filled by the running Dispatch
	grant    []Delivery
	held     bool // the waiter is in dispatcher.held
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

// Paused returns the names of the waiter's queues that are paused.
func (w *Waiter) Paused() (names []string) {
	for _, sub := range w.subs {
		if sub.queue.record.Paused {
			names = append(names, sub.queue.record.Name)
		}
	}
	return names
}

func (w *Waiter) open() bool {
	return (w.credits > 0 || w.pool != nil && !w.starved) && w.bytes < w.bytesMax
}

// Subscribe adds a waiter. It returns ErrTooManyQueues if one of the queues does not exist and the
// state already contains the maximum number of such queues.
func (d *dispatcher) Subscribe(c Claim, owner any) (*Waiter, error) {
	w := &Waiter{Owner: owner, leaseMs: c.LeaseMs, once: c.Once, pool: c.Pool, states: c.States, bytesMax: orDefault(c.BytesMax, waiterBytesMax)}
	for i, name := range c.Queues {
		q, err := d.queues.awaited(c.Tenant, name)
		if err != nil {
			d.Unsubscribe(w)
			return nil, err
		}
		q.subscriptions++
		sub := &subscription{waiter: w, queue: q, index: i, weight: 1}
		if c.Weights != nil {
			sub.weight = int(c.Weights[i])
		}
		w.subs = append(w.subs, sub)
	}
	if !w.once {
		d.lastHolder++
		w.holder = d.lastHolder
		d.holders[w.holder] = w
	}
	d.Credit(w, c.Credit)
	return w, nil
}

// Credit allows a waiter n more tasks. If the waiter uses a Pool, the next Dispatch returns the
// unused credit to the pool.
func (d *dispatcher) Credit(w *Waiter, n int) {
	w.credits += n
	w.starved = false
	d.noteDrawn(w)
	d.list(w)
}

// Sent reports that a waiter has released this many bytes of delivered payloads.
func (d *dispatcher) Sent(w *Waiter, bytes int64) {
	w.bytes -= bytes
	d.list(w)
}

// Unsubscribe ends a waiter. Its leases continue until they are settled or expire.
func (d *dispatcher) Unsubscribe(w *Waiter) {
	w.credits = 0
	for _, sub := range w.subs {
		if sub.listed {
			sub.queue.waiting.remove(sub)
		}
		d.queues.left(sub.queue)
	}
	w.subs = nil
	if !w.once {
		delete(d.holders, w.holder)
	}
}

// list adds an open waiter to its queues, starting with the queue that has the next turn.
func (d *dispatcher) list(w *Waiter) {
	if !w.open() {
		return
	}
	for i := range w.subs {
		sub := w.subs[(w.turn+i)%len(w.subs)]
		if !sub.listed {
			sub.queue.waiting.push(sub)
		}
		d.queues.heat(sub.queue)
	}
}

// Awaits reports whether the waiter may get more tasks once a Refill is answered.
func (d *dispatcher) Awaits(w *Waiter) bool {
	if !w.open() {
		return false
	}
	for _, sub := range w.subs {
		if sub.queue.awaits {
			return true
		}
	}
	return false
}
