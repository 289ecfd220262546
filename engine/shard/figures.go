package shard

import (
	"errors"
	"sync"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// The figures of a queue are its statistics. They are exact: a task that became due is counted as
// ready, whether it is in memory or not. Figures that are unknown, mainly after a recovery, are
// first read from the store. The reading is divided into parts, so that other commands are decided
// in between.

const (
	// figuresQueuesMax limits the number of queues whose figures one turn computes.
	figuresQueuesMax = 256
	// figuresReadsMax limits the number of queues whose missing figures one turn requests from the
	// store.
	figuresReadsMax = 16
)

// figures is a request for the figures of one queue, a page of the list of queues, or all queues. A
// figuresAnswer answers it once all these figures are known.
type figures struct {
	named *queueName       // requests one queue if it is not nil
	list  *queue.QueueList // requests a page if it is not nil
	end   *queue.Name      // used if list is not nil: QueuePage.End
	reply func([]queue.Stats, error)

	asked  bool  // the deciding goroutine has accepted the request and will answer it
	begun  bool  // the deciding goroutine has begun to collect the figures
	asOfMs int64 // the figures are as of this time or later
	// changed is used for a request for all queues: the number of changed queues whose figures are not taken
	// yet.
	changed int
	left    []uint32 // queues whose figures are not known yet
	out     []queue.Stats
	err     error
}

// figuresRequests contains the requests for figures that are not answered. The deciding goroutine
// owns it.
type figuresRequests struct {
	state  *queue.State
	last   *lastFigures
	space  *storage.Space
	asking []*figures
}

// lastFigures stores the figures of all queues as of the last request. For the next request for all
// queues, the deciding goroutine visits only the queues that changed since.
type lastFigures struct {
	mu sync.Mutex
	of map[uint32]figuresOf // by queue
}

type figuresOf struct {
	queue.Stats
	atMs int64
}

func (f *lastFigures) put(st queue.Stats, nowMs int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[uint32]figuresOf{}
	}
	f.of[st.ID] = figuresOf{st, nowMs}
}

func (f *lastFigures) drop(queues []uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range queues {
		delete(f.of, id)
	}
}

func (f *lastFigures) all(nowMs int64) []queue.Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]queue.Stats, 0, len(f.of))
	for _, q := range f.of {
		q.Age(q.atMs, nowMs)
		out = append(out, q.Stats)
	}
	return out
}

// Stats requests the figures of all queues. reply is called as for Enqueue, or by a separate
// goroutine. All figures of one queue are as of the same time, which is not earlier than the call.
func (s *Shard) Stats(reply func([]queue.Stats, error)) error {
	return s.inbox.put(&figures{reply: reply}, load{})
}

// QueueStats requests the figures of one queue. It replies ErrNoQueue if the queue does not exist.
func (s *Shard) QueueStats(tenant, name string, reply func(queue.Stats, error)) error {
	return s.inbox.put(&figures{named: &queueName{tenant, name}, reply: func(out []queue.Stats, err error) {
		if err != nil {
			reply(queue.Stats{}, err)
			return
		}
		reply(out[0], nil)
	}}, load{})
}

// QueuePage is a page of the list of queues.
type QueuePage struct {
	Queues []queue.Stats // in no particular order
	// End is nil if the list ends with this page. Otherwise the next page begins after it. The page
	// contains no queue after it.
	End *queue.Name
}

// ListQueues requests a page of the list of queues. The shard visits and reads only the queues of the page.
func (s *Shard) ListQueues(l queue.QueueList, reply func(QueuePage, error)) error {
	c := &figures{list: &l}
	c.reply = func(out []queue.Stats, err error) { reply(QueuePage{out, c.end}, err) }
	return s.inbox.put(c, load{})
}

// ofAll reports whether the request is for all queues.
func (c *figures) ofAll() bool { return c.named == nil && c.list == nil }

func (c *figures) decide(d *decider, nowMs int64) {
	c.asked, c.asOfMs = true, nowMs
	if c.list != nil {
		c.left, c.end = d.state.List(*c.list)
	} else if c.named != nil {
		if q, ok := d.state.Named(c.named.tenant, c.named.name); ok {
			c.left = []uint32{q.ID()}
		} else {
			c.err = ErrNoQueue
		}
	}
	c.begun = !c.ofAll()
	d.figures.asking = append(d.figures.asking, c)
}

// publish answers only a request that was never decided. figuresAnswer answers the others.
func (c *figures) publish(_ *Shard, err error) {
	if !c.asked {
		c.reply(nil, err)
	}
}

type figuresAnswer struct{ to *figures }

func (*figuresAnswer) decide(*decider, int64) {}

func (a *figuresAnswer) publish(s *Shard, err error) {
	switch err = errors.Join(a.to.err, err); {
	case err != nil:
		a.to.reply(nil, err)
	case a.to.ofAll():
		// A separate goroutine makes the copy, so that other answers do not wait for it.
		s.reading.Go(func() { a.to.reply(s.lastFigures.all(s.opts.NowMs()), nil) })
	default:
		a.to.reply(a.to.out, nil)
	}
}

// answer continues the requests for figures, and appends the answers of completed ones to
// commands. At most one request for all queues is under way. Later requests for all queues wait for
// it, and then visit only the queues that changed since.
func (r *figuresRequests) answer(commands []command, nowMs int64) []command {
	if gone := r.state.TakeDeleted(); len(gone) > 0 {
		r.last.drop(gone)
	}
	queues, reads := figuresQueuesMax, figuresReadsMax
	// The state machine's time is stopped, so no lease expires.
	still := r.space.Changes() != nil
	left := r.asking[:0]
	ofAll := false // a request for all queues is under way
	for _, c := range r.asking {
		if c.ofAll() {
			if ofAll {
				left = append(left, c)
				continue
			}
			if !c.begun {
				c.begun, c.asOfMs, c.changed = true, nowMs, r.state.ChangedQueues()
			}
		}
		if still || r.state.Swept(c.asOfMs) {
			c.read(r, nowMs, &queues, &reads)
		}
		ofAll = ofAll || c.ofAll() && !c.done()
		if c.done() {
			commands = append(commands, &figuresAnswer{c})
		} else {
			left = append(left, c)
		}
	}
	clear(r.asking[len(left):])
	r.asking = left
	return commands
}

func (c *figures) done() bool { return len(c.left) == 0 && c.changed == 0 }

// read takes the known figures and requests the unknown ones. queues and reads are the remaining
// limits of the turn, which read reduces.
func (c *figures) read(r *figuresRequests, nowMs int64, queues, reads *int) {
	left := c.left[:0]
	for i, id := range c.left {
		if *queues == 0 || *reads == 0 {
			left = append(left, c.left[i:]...)
			break
		}
		*queues--
		if q, ok := r.state.Queue(id); ok && !c.take(r, q, nowMs) {
			*reads--
			left = append(left, id)
		} // else the figures were taken, or the queue was deleted
	}
	c.left = left
	for ; c.changed > 0 && *queues > 0 && *reads > 0; c.changed-- {
		*queues--
		if q := r.state.TakeChanged(); !c.take(r, q, nowMs) {
			*reads--
			c.left = append(c.left, q.ID())
		}
	}
	if c.named != nil && len(c.left) == 0 && len(c.out) == 0 {
		c.err = ErrNoQueue
	}
}

// take stores a queue's figures. If they are unknown, it requests a reading of the store and
// returns false.
func (c *figures) take(r *figuresRequests, q *queue.Queue, nowMs int64) bool {
	if !q.Stored() { // the queue was deleted
		return true
	}
	if !r.state.Refresh(q, c.asOfMs) {
		return false
	}
	st := r.state.Stats(q, nowMs)
	if c.ofAll() {
		r.last.put(st, nowMs)
	} else {
		c.out = append(c.out, st)
	}
	return true
}
