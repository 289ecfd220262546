package shard

import (
	"errors"
	"sync"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/queue"
)

// command is a request to the shard. The deciding goroutine calls decide. Once the turn is durable or failed, the publishing goroutine
// calls publish, with the error if it failed, also if decide was not called. publish must not block.
type command interface {
	decide(s *Shard, nowMs int64)
	publish(s *Shard, err error)
}

type enqueue struct {
	tenant string
	tasks  []queue.NewTask
	bytes  int // of the payloads
	reply  func([]queue.Enqueued, error)
	out    []queue.Enqueued
}

// Enqueue stores tasks of one tenant. reply is called once, from the shard's publishing goroutine,
// when the tasks are durable; it must not block. Enqueue returns ErrOverloaded, ErrClosed or a *disk.FullError, and then
// reply is not called.
func (s *Shard) Enqueue(tenant string, tasks []queue.NewTask, reply func([]queue.Enqueued, error)) error {
	l := load{tasks: len(tasks)}
	for i := range tasks {
		l.bytes += len(tasks[i].Payload)
	}
	if err := s.admit(); err != nil {
		return err
	}
	return s.inbox.put(&enqueue{tenant: tenant, tasks: tasks, bytes: l.bytes, reply: reply}, l)
}

func (c *enqueue) decide(s *Shard, nowMs int64) {
	if err := s.opts.Space.Growth(); err != nil { // the space may have shrunk since the command was admitted
		s.opts.Space.CountRefusals(err, 1)
		c.refuse(err)
		return
	}
	c.out = spareEnqueued.Take(len(c.tasks))
	if planted.Hits(planted.Lost) {
		s.plantedEnqueue(c, nowMs)
		return
	}
	s.state.Enqueue(nowMs, c.tenant, c.tasks, c.out)
}

func (c *enqueue) publish(_ *Shard, err error) { c.reply(c.out, err) }

type settle struct {
	tenant      string
	settlements []queue.Settlement
	reply       func([]error, error)
	out         []error
}

// Settle ends or extends leases of one tenant; reply is called as for Enqueue, with nil or
// queue.ErrStaleToken for each settlement.
func (s *Shard) Settle(tenant string, settlements []queue.Settlement, reply func([]error, error)) error {
	return s.inbox.put(&settle{tenant: tenant, settlements: settlements, reply: reply}, load{})
}

func (c *settle) decide(s *Shard, nowMs int64) {
	if planted.Enabled {
		plantedSettle(c.settlements)
	}
	c.out = spareOutcomes.Take(len(c.settlements))
	if low := s.opts.Space.Growth(); low != nil {
		s.settleLow(c, nowMs, low)
		return
	}
	s.state.Settle(nowMs, c.tenant, c.settlements, c.out)
}

func (c *settle) publish(_ *Shard, err error) { c.reply(c.out, err) }

// Subscription is a waiter at a shard. Its methods are safe for concurrent use.
type Subscription struct {
	shard   *Shard
	claim   queue.Claim
	deliver func([]queue.Delivery)
	failed  func(error)
	once    sync.Once     // guards failed
	waiter  *queue.Waiter // the deciding goroutine's
	paused  []string      // its queues that were paused when it ended; to be read once Close or a poll is answered
}

func (sub *Subscription) fail(err error) { sub.once.Do(func() { sub.failed(err) }) }

// Subscribe makes a waiter. deliver is called from the publishing goroutine with leased tasks, once
// their leases are durable; failed is called at most once, if the subscription can't be served. Neither may block.
func (s *Shard) Subscribe(c queue.Claim, deliver func([]queue.Delivery), failed func(error)) (*Subscription, error) {
	sub := &Subscription{shard: s, claim: c, deliver: deliver, failed: failed}
	return sub, s.inbox.put(&subscribe{sub: sub}, load{})
}

type subscribe struct {
	sub *Subscription
	err error
}

func (c *subscribe) decide(s *Shard, _ int64) {
	c.sub.waiter, c.err = s.subscribe(c.sub.claim, c.sub)
	if c.err == nil && s.subs != nil {
		s.subs[c.sub] = struct{}{}
	}
}

func (c *subscribe) publish(_ *Shard, err error) {
	if err = errors.Join(c.err, err); err != nil {
		c.sub.fail(err)
	}
}

// Credit lets the subscription have n more tasks.
func (sub *Subscription) Credit(n int) error {
	return sub.change(func(s *queue.State, w *queue.Waiter) { s.Credit(w, n) })
}

// Sent says that the subscriber does not hold so many bytes of delivered payloads any more. The bytes that it holds are bounded: further
// tasks are delivered only as Sent is called.
func (sub *Subscription) Sent(bytes int64) error {
	return sub.change(func(s *queue.State, w *queue.Waiter) { s.Sent(w, bytes) })
}

// giveBack returns the credit and the bytes of tasks that were leased and could not be delivered. The subscriber cannot call Sent for
// these.
func (sub *Subscription) giveBack(credit int, bytes int64) {
	// A shard that is stopping refuses the change: it delivers nothing more.
	_ = sub.change(func(s *queue.State, w *queue.Waiter) {
		s.Sent(w, bytes)
		s.Credit(w, credit)
	})
}

func (sub *Subscription) change(to func(*queue.State, *queue.Waiter)) error {
	return sub.shard.inbox.put(&change{sub: sub, to: to}, load{})
}

// change changes the waiter of a subscription. A subscription that could not be made, or was closed, has no waiter.
type change struct {
	sub *Subscription
	to  func(*queue.State, *queue.Waiter)
}

func (c *change) decide(s *Shard, _ int64) {
	if c.sub.waiter != nil {
		c.to(s.state, c.sub.waiter)
	}
}

func (*change) publish(*Shard, error) {}

// Close ends the subscription and then calls closed: deliver is not called after that. Delivered tasks stay leased until they are settled
// or their leases expire.
func (sub *Subscription) Close(closed func()) {
	if sub.shard.inbox.put(&unsubscribe{sub: sub, closed: closed}, load{}) != nil {
		closed() // the shard is stopping
	}
}

type unsubscribe struct {
	sub    *Subscription
	closed func()
}

func (c *unsubscribe) decide(s *Shard, _ int64) {
	if c.sub.waiter != nil {
		s.leaving = append(s.leaving, c.sub)
	}
}

func (c *unsubscribe) publish(*Shard, error) { c.closed() }
