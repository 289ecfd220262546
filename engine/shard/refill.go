package shard

import (
	"fmt"

	"github.com/pronybench/prony/engine/queue"
)

// The shard answers Refills without blocking the deciding goroutine, in the same way as examine
// reads tasks:
//
//  1. The deciding goroutine takes the state's Refills at the end of a turn.
//  2. Once all decisions so far are visible in the store, a separate goroutine reads the answers
//     for one turn.
//  3. A later turn passes the answers to the state, which corrects them for the changes since.

const (
	// refillItemsMax is the approximate bound of records that one turn passes to the state. The
	// last Refill may exceed it.
	refillItemsMax = queue.TurnMax
	// refillBytesMax is the approximate bound of payload bytes that are read for one turn. The last
	// Refill may exceed it.
	refillBytesMax = 1 << 20
)

// takeRefills takes the state's Refills. It begins to read them, or appends the command that does
// so once the turn is visible in the store. Refills must not read earlier, because the answers must
// include all decisions up to the Refill: the state corrects them only for later changes.
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

// refilling holds Refills until reads of the store see all decisions that were made before them.
type refilling struct{ refills []queue.Refill }

func (c *refilling) publish(s *Shard, err error) {
	s.inbox.resume(&visible{refills: c.refills, err: err})
}

func (*refilling) decide(*Shard, int64) {}

// visible begins the reading of Refills whose turn is visible in the store.
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

// readRefills starts a goroutine that reads the readable Refills, unless one is running.
func (s *Shard) readRefills() {
	if s.filling || len(s.unread) == 0 {
		return
	}
	s.filling = true
	refills := s.unread
	s.unread = nil
	s.reading.Go(func() { s.inbox.resume(s.readSome(refills)) })
}

// readSome reads the answers for one turn. It runs outside of the deciding goroutine and uses only
// the store.
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

// refillAnswer is the store's answer to one Refill.
type refillAnswer struct {
	refill queue.Refill
	give   func(*queue.State)
	items  int
	bytes  int64 // of payloads
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

// refilled passes answers to the state.
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
			// The state asks again once tasks may change.
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

// refuse makes decide change no task. The Refills are still answered.
func (c *refilled) refuse(error) bool {
	c.full = true
	return false
}
