package queue

// maxBatch is how many tasks one lease batch holds; a token has batchBits bits for the task's place.
const (
	batchBits = 12
	maxBatch  = 1 << batchBits
)

// quantum is how many tasks one waiter gets from one queue before the next queue's, or waiter's, turn.
const quantum = 64

// waiterBytesMax is about how many bytes of payloads a waiter is given before it says that it sent some of
// them: what it was given and did not send is held in memory.
const waiterBytesMax = 8 << 20

// Waiter is someone who takes tasks: a worker stream, or one claim. It gets tasks while it has credit.
type Waiter struct {
	Owner any // the caller's own

	leaseMs uint64
	once    bool
	credits int
	bytes   int64 // of payloads, given and not sent
	subs    []*subscription
	batch   *lease // being filled by the running Dispatch
	grant   []Delivery
}

type subscription struct {
	waiter *Waiter
	queue  *Queue
	listed bool // is in queue.waiting
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
	LeaseMs uint64 // 0: each task's own lease
	Credit  int    // how many tasks it may have before it is given more credit
	Once    bool   // the first grant is the only one
}

// Subscribe makes a waiter.
func (s *State) Subscribe(c Claim, owner any) (*Waiter, error) {
	w := &Waiter{Owner: owner, leaseMs: c.LeaseMs, once: c.Once}
	for _, name := range c.Queues {
		q, err := s.queue(c.Tenant, name)
		if err != nil {
			return nil, err
		}
		w.subs = append(w.subs, &subscription{waiter: w, queue: q})
	}
	s.Credit(w, c.Credit)
	return w, nil
}

// Credit lets a waiter have n more tasks.
func (s *State) Credit(w *Waiter, n int) {
	w.credits += n
	s.list(w)
}

// Sent says that a waiter is done with so many bytes of the payloads it was given.
func (s *State) Sent(w *Waiter, bytes int64) {
	w.bytes -= bytes
	s.list(w)
}

// open says whether the waiter may be given a task.
func (w *Waiter) open() bool { return w.credits > 0 && w.bytes < waiterBytesMax }

// list puts a waiter that may be given tasks in its queues' turns.
func (s *State) list(w *Waiter) {
	if !w.open() {
		return
	}
	for _, sub := range w.subs {
		if !sub.listed {
			sub.listed = true
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
			sub.queue.waiting.remove(func(o *subscription) bool { return o == sub })
			sub.listed = false
		}
	}
	w.subs = nil
}

// Unfinished says that the last Dispatch left work that another one goes on with, once what
// Refills returns is answered.
func (s *State) Unfinished() bool { return s.hot.len() > 0 }

// Dispatch leases ready tasks to waiters: queues take turns, and within a queue its waiters do. It
// appends one Grant for each waiter that was given tasks.
func (s *State) Dispatch(now int64, out []Grant) []Grant {
	var blocked []*Queue
	for s.hot.len() > 0 {
		q := s.hot.pop()
		progress, isBlocked := s.dispatchTurn(q, now)
		switch {
		case isBlocked:
			blocked = append(blocked, q) // still marked hot
		case progress:
			s.hot.push(q)
		default:
			q.hot = false
		}
	}
	for _, q := range blocked {
		s.hot.push(q)
	}
	for i, w := range s.granted {
		s.journal.PutLease(w.batch.id, w.batch.refs)
		s.expiry.set(w.batch)
		out = append(out, Grant{Waiter: w, Deliveries: w.grant})
		w.batch, w.grant = nil, nil
		if w.once {
			w.credits = 0
		}
		s.granted[i] = nil
	}
	s.granted = s.granted[:0]
	return out
}

// dispatchTurn gives the queue's next waiter a turn. progress is false when no task or no waiter is left.
func (s *State) dispatchTurn(q *Queue, now int64) (progress, blocked bool) {
	for q.waiting.len() > 0 {
		sub := *q.waiting.front()
		w := sub.waiter
		if w.open() && len(w.grant) < maxBatch {
			share := max(1, int(q.ready())/q.waiting.len())
			took, blocked := s.lease(q, w, min(quantum, share, w.credits, maxBatch-len(w.grant)), now)
			if took == 0 {
				return false, blocked
			}
			q.waiting.push(q.waiting.pop()) // the next turn is the next waiter's
			return true, blocked
		}
		if w.open() { // its batch is full; the next Dispatch goes on
			return false, true
		}
		q.waiting.pop()
		sub.listed = false
	}
	return false, false
}

// ready is an upper bound of how many tasks are ready.
func (q *Queue) ready() uint64 { return q.record.Counts.Fresh + q.record.Counts.Returned }

// lease takes up to n tasks from the queue for the waiter, most urgent priority first.
func (s *State) lease(q *Queue, w *Waiter, n int, now int64) (took int, blocked bool) {
	for p := MaxPriority; p >= 0 && took < n; p-- {
		l := q.lanes[p]
		if l == nil {
			continue
		}
		for took < n && w.open() {
			ref, d, ok, blocked := s.take(l, now)
			if !ok {
				if blocked { // a less urgent lane must not go first
					return took, true
				}
				break
			}
			s.addLease(q, w, ref, d, now)
			took++
		}
	}
	return took, false
}

func (s *State) addLease(q *Queue, w *Waiter, ref LeaseRef, d Delivery, now int64) {
	if w.batch == nil {
		w.batch = s.newLease()
		s.granted = append(s.granted, w)
		w.grant = make([]Delivery, 0, min(w.credits, max(1, int(q.ready())+1), quantum))
	}
	b := w.batch
	ref.ExpiresAtMs = now + int64(orDefault(w.leaseMs, ref.LeaseMs))
	b.expiresMs = min(b.expiresMs, ref.ExpiresAtMs)
	d.LeaseRef, d.Queue, d.Token = ref, q, Token(b.id, len(b.refs))
	b.refs = append(b.refs, ref)
	b.live++
	w.grant = append(w.grant, d)
	w.credits--
	w.bytes += int64(ref.Bytes)
	q.record.Counts.Leased++
	s.touch(q)
}
