package shard

import (
	"errors"
	"sync"

	"github.com/pronybench/prony/engine/queue"
)

// Figures of queues are exact: a task that became due counts as ready, whether it is in memory or
// not. Unknown figures, mainly after a recovery, are read from the store first. The reading is
// divided into parts, so that other commands are decided in between.

const (
	// figuresQueuesMax bounds the queues whose figures one turn computes.
	figuresQueuesMax = 256
	// figuresReadsMax bounds the queues for which one turn requests readings of the store.
	figuresReadsMax = 16
)

// figures is a request for the figures of queues. A figuresAnswer answers it, once all figures are
// known.
type figures struct {
	named *queueName // nil requests the figures of all queues
	reply func([]queue.Stats, error)

	asked   bool     // the deciding goroutine has accepted the request and will answer it
	begun   bool     // the deciding goroutine has begun to collect the figures
	asOfMs  int64    // the figures are as of this time or later
	changed int      // for all queues: the number of changed queues that are not taken yet
	left    []uint32 // queues whose figures are not known yet
	out     []queue.Stats
	err     error
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

// all returns a copy of all figures, with the rates at nowMs.
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
// goroutine. All figures of one queue are as of the same time, after the call.
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

func (c *figures) decide(s *Shard, nowMs int64) {
	c.asked, c.asOfMs = true, nowMs
	if c.named == nil {
		s.asking = append(s.asking, c)
		return
	}
	c.begun = true
	if q, ok := s.state.Named(c.named.tenant, c.named.name); ok {
		c.left = []uint32{q.ID()}
	} else {
		c.err = ErrNoQueue
	}
	s.asking = append(s.asking, c)
}

// publish does nothing for an accepted request, which figuresAnswer answers.
func (c *figures) publish(_ *Shard, err error) {
	if !c.asked {
		c.reply(nil, err)
	}
}

// figuresAnswer is the command that answers a request for figures.
type figuresAnswer struct{ to *figures }

func (*figuresAnswer) decide(*Shard, int64) {}

func (a *figuresAnswer) publish(s *Shard, err error) {
	switch err = errors.Join(a.to.err, err); {
	case err != nil:
		a.to.reply(nil, err)
	case a.to.named == nil:
		// A separate goroutine makes the copy, so that other answers do not wait for it.
		s.reading.Go(func() { a.to.reply(s.lastFigures.all(s.opts.NowMs()), nil) })
	default:
		a.to.reply(a.to.out, nil)
	}
}

// answerFigures continues the requests for figures, and appends the answers of completed ones to
// commands. At most one request for all queues is under way: later ones wait for it and then visit
// only the queues that changed since.
func (s *Shard) answerFigures(commands []command, nowMs int64) []command {
	if gone := s.state.TakeDeleted(); len(gone) > 0 {
		s.lastFigures.drop(gone)
	}
	queues, reads := figuresQueuesMax, figuresReadsMax
	still := s.opts.Space.Changes() != nil // time stands still: no leases end
	left := s.asking[:0]
	ofAll := false // a request for all queues is under way
	for _, c := range s.asking {
		if c.named == nil {
			if ofAll {
				left = append(left, c)
				continue
			}
			if !c.begun {
				c.begun, c.asOfMs, c.changed = true, nowMs, s.state.ChangedQueues()
			}
		}
		if still || s.state.Swept(c.asOfMs) {
			c.read(s, nowMs, &queues, &reads)
		}
		ofAll = ofAll || c.named == nil && !c.done()
		if c.done() {
			commands = append(commands, &figuresAnswer{c})
		} else {
			left = append(left, c)
		}
	}
	clear(s.asking[len(left):])
	s.asking = left
	return commands
}

func (c *figures) done() bool { return len(c.left) == 0 && c.changed == 0 }

// read takes the figures that are known, within the remaining bounds of the turn.
func (c *figures) read(s *Shard, nowMs int64, queues, reads *int) {
	left := c.left[:0]
	for i, id := range c.left {
		if *queues == 0 || *reads == 0 {
			left = append(left, c.left[i:]...)
			break
		}
		*queues--
		if q, ok := s.state.Queue(id); ok && !c.take(s, q, nowMs) {
			*reads--
			left = append(left, id)
		} // otherwise the figures were taken, or the queue was deleted
	}
	c.left = left
	for ; c.changed > 0 && *queues > 0 && *reads > 0; c.changed-- {
		*queues--
		if q := s.state.TakeChanged(); !c.take(s, q, nowMs) {
			*reads--
			c.left = append(c.left, q.ID())
		}
	}
	if c.named != nil && len(c.left) == 0 && len(c.out) == 0 {
		c.err = ErrNoQueue
	}
}

// take stores a queue's figures. If they are unknown, it requests a reading and returns false.
func (c *figures) take(s *Shard, q *queue.Queue, nowMs int64) bool {
	if !q.Stored() { // the queue was deleted
		return true
	}
	if !s.state.Refresh(q, c.asOfMs) {
		return false
	}
	st := s.state.Stats(q, nowMs)
	if c.named != nil {
		c.out = append(c.out, st)
	} else {
		s.lastFigures.put(st, nowMs)
	}
	return true
}
