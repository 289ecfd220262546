package shard

import (
	"fmt"

	"github.com/pronybench/prony/engine/queue"
)

// A Refill is a request of the state machine for records of the store. The shard answers Refills
// without blocking the deciding goroutine, in the same way as examine reads tasks:
//
//  1. The deciding goroutine takes the state's Refills at the end of a turn.
//  2. Once all decisions so far are visible in the store, a separate goroutine reads the answers
//     for one turn.
//  3. A later turn passes the answers to the state, which corrects them for the changes since.

const (
	// refillItemsMax approximately limits the number of records that one turn passes to the state.
	// The last Refill may exceed it.
	refillItemsMax = queue.TurnMax
	// refillBytesMax approximately limits the payload bytes that are read for one turn. The last
	// Refill may exceed it.
	refillBytesMax = 1 << 20
)

// takeRefills takes the Refills that the state requests. It starts to read them, or in a replicated
// shard appends the command that starts this once the turn is visible in the store. The reading
// must not start earlier, because an answer must include all decisions before its Refill: the state
// corrects the answer only for later changes.
func (s *Shard) takeRefills(commands []command) []command {
	refills := s.state.Refills()
	if len(refills) == 0 {
		return commands
	}
	s.refilling += len(refills)
	if s.opts.Replicate != nil {
		return append(commands, &refilling{refills: refills})
	}
	s.unread = append(s.unread, refills...) // a store with its own log shows submitted batches
	s.readRefills()
	return commands
}

// refilling delays Refills until reads of the store see all decisions that were made before the
// Refills. publish is called when this is the case.
type refilling struct{ refills []queue.Refill }

func (c *refilling) publish(s *Shard, err error) {
	s.inbox.resume(&visible{refills: c.refills, err: err})
}

func (*refilling) decide(*Shard, int64) {}

// visible starts the reading of Refills whose turn is visible in the store.
type visible struct {
	refills []queue.Refill
	err     error
}

func (c *visible) decide(s *Shard, _ int64) {
	// The tenure has ended: requests for figures that wait for these Refills must fail instead of
	// waiting forever.
	if c.err != nil {
		s.refilling -= len(c.refills)
		s.failure = &NotLeaderError{s.opts.Number}
		return
	}
	s.unread = append(s.unread, c.refills...)
	s.readRefills()
}

func (*visible) publish(*Shard, error) {}

// readRefills starts a goroutine that reads the Refills in Shard.unread, unless one is running.
func (s *Shard) readRefills() {
	if s.filling || len(s.unread) == 0 {
		return
	}
	s.filling = true
	refills := s.unread
	s.unread = nil
	s.reading.Go(func() { s.inbox.resume(s.readSome(refills)) })
}

// readSome reads the answers for one turn. It runs outside of the deciding goroutine, so it must
// use only the store.
func (s *Shard) readSome(refills []queue.Refill) *refilled {
	c := &refilled{}
	bytes := int64(0)
	for i, r := range refills {
		a, err := s.readRefill(r)
		if err != nil {
			c.err = err
			break
		}
		c.answers = append(c.answers, a)
		c.items += a.items
		bytes += a.bytes
		if c.items >= refillItemsMax || bytes >= refillBytesMax {
			c.left = refills[i+1:]
			break
		}
	}
	return c
}

type refillAnswer struct {
	refill queue.Refill
	give   func(*queue.State)
	items  int
	bytes  int64 // payload bytes
}

func (s *Shard) readRefill(r queue.Refill) (a refillAnswer, err error) {
	a.refill = r
	switch r.Stream {
	case queue.StreamReturned:
		due, more, err := s.store.Returned(r)
		a.items, a.give = len(due), func(state *queue.State) { state.RefillReturned(r, due, more) }
		return a, err
	case queue.StreamDue, queue.StreamNotDue:
		tasks, next, more, err := s.store.CountDue(r)
		a.items, a.give = len(tasks), func(state *queue.State) { state.RefillDue(r, tasks, next, more) }
		return a, err
	case queue.StreamExpired:
		expired, nextMs, err := s.store.Expired(r.FromMs, r.Limit, r.BytesMax)
		a.items, a.give = len(expired), func(state *queue.State) { state.RefillExpired(r, expired, nextMs) }
		return a, err
	case queue.StreamFresh:
		tasks, nextSeq, err := s.store.Fresh(r)
		a.items, a.give = len(tasks), func(state *queue.State) { state.RefillFresh(r, tasks, nextSeq) }
		for i := range tasks {
			a.bytes += int64(len(tasks[i].Task.Payload))
		}
		return a, err
	}
	return a, fmt.Errorf("unknown stream %d in a Refill: the packages of this server are of different versions", r.Stream)
}

// refilled is the command that passes the answers of Refills to the state.
type refilled struct {
	answers []refillAnswer
	items   int
	left    []queue.Refill // not read yet
	err     error
	full    bool // the disk has no space for changes: see refuse
}

func (c *refilled) decide(s *Shard, _ int64) {
	s.filling = false
	if c.err != nil {
		s.failure = c.err
		return
	}
	for _, a := range c.answers {
		if c.full && a.refill.Stream == queue.StreamExpired {
			// An empty answer from FromMs on makes the state request these expiries again later.
			s.state.RefillExpired(a.refill, nil, a.refill.FromMs)
			continue
		}
		a.give(s.state)
	}
	s.refilling -= len(c.answers)
	s.unread = append(c.left, s.unread...)
	s.readRefills()
}

func (*refilled) publish(*Shard, error) {}

// refuse makes decide answer the Refills without changing any task.
func (c *refilled) refuse(error) bool {
	c.full = true
	return false
}
