package shard

import (
	"fmt"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
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

// refills answers the Refills of a shard. The deciding goroutine owns it.
type refills struct {
	shard      *Shard
	state      *queue.State
	unanswered int            // number of unanswered Refills
	unread     []queue.Refill // Refills that can be read
	filling    bool           // a goroutine reads Refills
}

// take takes the Refills that the state requests. It starts to read them, or in a replicated shard
// appends the command that starts this once the turn is visible in the store. The reading must not
// start earlier, because an answer must include all decisions before its Refill: the state corrects
// the answer only for later changes.
func (r *refills) take(commands []command) []command {
	requested := r.state.Refills()
	if len(requested) == 0 {
		return commands
	}
	r.unanswered += len(requested)
	if r.shard.opts.Replicate != nil {
		return append(commands, &refilling{refills: requested})
	}
	r.unread = append(r.unread, requested...) // a store with its own log shows submitted batches
	r.read()
	return commands
}

// refilling delays Refills until reads of the store see all decisions that were made before the
// Refills. publish is called when this is the case.
type refilling struct{ refills []queue.Refill }

func (c *refilling) publish(s *Shard, err error) {
	s.inbox.resume(&visible{refills: c.refills, err: err})
}

func (*refilling) decide(*decider, int64) {}

// visible starts the reading of Refills whose turn is visible in the store.
type visible struct {
	refills []queue.Refill
	err     error
}

func (c *visible) decide(d *decider, _ int64) {
	// The tenure has ended: requests for figures that wait for these Refills must fail instead of
	// waiting forever.
	if c.err != nil {
		d.refills.unanswered -= len(c.refills)
		d.failure = &NotLeaderError{d.shard.opts.Number}
		return
	}
	d.refills.unread = append(d.refills.unread, c.refills...)
	d.refills.read()
}

func (*visible) publish(*Shard, error) {}

// read starts a goroutine that reads the unread Refills, unless one is running.
func (r *refills) read() {
	if r.filling || len(r.unread) == 0 {
		return
	}
	r.filling = true
	s, unread := r.shard, r.unread
	r.unread = nil
	s.reading.Go(func() { s.inbox.resume(readRefills(s.store, unread)) })
}

// readRefills reads the answers for one turn.
func readRefills(store *storage.Store, refills []queue.Refill) *refilled {
	c := &refilled{}
	bytes := int64(0)
	for i, r := range refills {
		a, err := readRefill(store, r)
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

func readRefill(store *storage.Store, r queue.Refill) (a refillAnswer, err error) {
	a.refill = r
	switch r.Stream {
	case queue.StreamReturned:
		due, more, err := store.Returned(r)
		a.items, a.give = len(due), func(state *queue.State) { state.RefillReturned(r, due, more) }
		return a, err
	case queue.StreamDue, queue.StreamNotDue:
		tasks, next, more, err := store.CountDue(r)
		a.items, a.give = len(tasks), func(state *queue.State) { state.RefillDue(r, tasks, next, more) }
		return a, err
	case queue.StreamExpired:
		expired, nextMs, err := store.Expired(r.FromMs, r.Limit, r.BytesMax)
		a.items, a.give = len(expired), func(state *queue.State) { state.RefillExpired(r, expired, nextMs) }
		return a, err
	case queue.StreamFinished:
		sizes, err := store.FinishedSizes(r)
		a.items, a.give = len(sizes), func(state *queue.State) { state.RefillFinished(r, sizes) }
		return a, err
	case queue.StreamFresh:
		tasks, nextSeq, err := store.Fresh(r)
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

func (c *refilled) decide(d *decider, _ int64) {
	d.refills.filling = false
	if c.err != nil {
		d.failure = c.err
		return
	}
	for _, a := range c.answers {
		if c.full && a.refill.Stream == queue.StreamExpired {
			// An empty answer from FromMs on makes the state request these expiries again later.
			d.state.RefillExpired(a.refill, nil, a.refill.FromMs)
			continue
		}
		a.give(d.state)
	}
	d.refills.unanswered -= len(c.answers)
	d.refills.unread = append(c.left, d.refills.unread...)
	d.refills.read()
}

func (*refilled) publish(*Shard, error) {}

// refuse makes decide answer the Refills without changing any task.
func (c *refilled) refuse(error) bool {
	c.full = true
	return false
}
