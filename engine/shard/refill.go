package shard

import (
	"fmt"

	"github.com/pronybench/prony/engine/queue"
)

// Refills are answered without blocking the deciding goroutine, as examine reads tasks:
//
//  1. The deciding goroutine takes the state's Refills at the end of a turn.
//  2. Once all that was decided so far is visible in the store, a goroutine of its own reads, for one turn's worth of answers.
//  3. A later turn hands the answers to the state, which knows what changed meanwhile.

const (
	// refillItemsMax is about how many records are handed to the state in one turn: what goes beyond it is one Refill's.
	refillItemsMax = queue.TurnMax
	// refillBytesMax is about how many bytes of payloads are read for one turn: what goes beyond it is one Refill's.
	refillBytesMax = 1 << 20
)

// takeRefills takes the state's Refills. It begins to read them, or adds the command that does so once the turn is visible in the store.
func (s *Shard) takeRefills(commands []command) []command {
	refills := s.state.Refills()
	if len(refills) == 0 {
		return commands
	}
	s.refilling += len(refills)
	if s.opts.Replicate != nil {
		return append(commands, &refilling{refills: refills})
	}
	s.unread = append(s.unread, refills...) // a store with a log of its own shows what was submitted
	s.readRefills()
	return commands
}

// refilling holds Refills until the store shows all decisions that were made before them.
type refilling struct{ refills []queue.Refill }

func (c *refilling) publish(s *Shard, err error) {
	s.inbox.resume(&visible{refills: c.refills, err: err})
}

func (*refilling) decide(*Shard, int64) {}

// visible has Refills read.
type visible struct {
	refills []queue.Refill
	err     error
}

func (c *visible) decide(s *Shard, _ int64) {
	if c.err != nil { // the tenure is over: without these Refills the requests for figures would never be answered
		s.refilling -= len(c.refills)
		s.failure = &NotLeaderError{s.opts.Number}
		return
	}
	s.unread = append(s.unread, c.refills...)
	s.readRefills()
}

func (*visible) publish(*Shard, error) {}

// readRefills begins to read the Refills that can be read, unless others are being read.
func (s *Shard) readRefills() {
	if s.filling || len(s.unread) == 0 {
		return
	}
	s.filling = true
	refills := s.unread
	s.unread = nil
	s.reading.Go(func() { s.inbox.resume(s.readSome(refills)) })
}

// readSome reads the answers for one turn.
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

// refillAnswer is what the store has for one Refill.
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
	return a, fmt.Errorf("the state machine asks for stream %d, which no store has: the server's packages do not fit together", r.Stream)
}

// refilled hands answers to the state.
type refilled struct {
	answers []refillAnswer
	items   int
	left    []queue.Refill // to be read
	err     error
	full    bool // the disk has no space for changes
}

func (c *refilled) decide(s *Shard, _ int64) {
	s.filling = false
	if c.err != nil {
		s.failure = c.err
		return
	}
	for _, a := range c.answers {
		if c.full && a.refill.Stream == queue.StreamExpired {
			s.state.RefillExpired(a.refill, nil, a.refill.FromMs) // again, when tasks may change
			continue
		}
		a.give(s.state)
	}
	s.refilling -= len(c.answers)
	s.unread = append(c.left, s.unread...)
	s.readRefills()
}

func (*refilled) publish(*Shard, error) {}

// refuse has decide change no task.
func (c *refilled) refuse(error) bool {
	c.full = true
	return false
}
