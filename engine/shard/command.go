package shard

import (
	"errors"
	"sync"

	"github.com/pronybench/prony/engine/queue"
)

// command is a request to the shard. The deciding goroutine calls decide, which may use the state
// machine. decide must not block, except in commits.submitEarly. The publishing goroutine calls
// publish exactly once: with nil when the turn is durable, or with an error if the turn failed. It
// also calls publish for a command that was never decided. publish must not block or use the
// state machine.
type command interface {
	decide(d *decider, nowMs int64)
	publish(s *Shard, err error)
}

type enqueue struct {
	tenant string
	tasks  []queue.NewTask
	bytes  int // total size of the payloads
	reply  func([]queue.Enqueued, error)
	out    []queue.Enqueued
}

// Enqueue stores tasks of one tenant. The publishing goroutine calls reply once, when the tasks are
// durable; reply must not block. If Enqueue returns an error (ErrOverloaded, ErrClosed,
// ErrNotLeader or a *disk.FullError), reply is not called. The caller must not change tasks before
// reply is called.
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

func (c *enqueue) decide(d *decider, nowMs int64) {
	// The disk's free space may have shrunk since the command was admitted.
	if err := d.shard.opts.Space.Growth(); err != nil {
		d.shard.opts.Space.CountRefusals(err, 1)
		c.refuse(err)
		return
	}
	c.out = spareEnqueued.Take(len(c.tasks))
	d.state.Enqueue(nowMs, c.tenant, c.tasks, c.out)
}

func (c *enqueue) publish(_ *Shard, err error) { c.reply(c.out, err) }

type settle struct {
	tenant      string
	settlements []queue.Settlement
	reply       func([]error, error)
	out         []error
}

// Settle ends or extends leases of one tenant. reply is called as for Enqueue. It gets one result
// for each settlement: nil, or an error such as queue.ErrStaleToken.
func (s *Shard) Settle(tenant string, settlements []queue.Settlement, reply func([]error, error)) error {
	return s.inbox.put(&settle{tenant: tenant, settlements: settlements, reply: reply}, load{})
}

func (c *settle) decide(d *decider, nowMs int64) {
	c.out = spareOutcomes.Take(len(c.settlements))
	if low := d.shard.opts.Space.Growth(); low != nil {
		d.settleLow(c, nowMs, low)
		return
	}
	d.state.Settle(nowMs, c.tenant, c.settlements, c.out)
}

func (c *settle) publish(_ *Shard, err error) { c.reply(c.out, err) }

// Subscription is a waiter at a shard. Its methods are safe for concurrent use.
type Subscription struct {
	shard   *Shard
	claim   queue.Claim
	deliver func([]queue.Delivery)
	failed  func(error)
	// cancelled is nil for a Once claim.
	cancelled func(ref queue.Ref, token uint64)
	once      sync.Once     // guards failed
	waiter    *queue.Waiter // owned by the deciding goroutine
	// paused lists the claim's queues that were paused when the subscription ended. It may be read
	// once Close or the poll is answered.
	paused []string
}

func (sub *Subscription) fail(err error) { sub.once.Do(func() { sub.failed(err) }) }

// Subscribe adds a waiter for tasks to the shard. The publishing goroutine calls deliver with
// leased tasks once their leases are durable. It calls failed at most once, if the subscription
// cannot be served. If c.Once is not set and cancelled is not nil, it calls cancelled for each lease
// of the subscription whose task was cancelled, once that is durable and after deliver. None of the
// functions may block.
func (s *Shard) Subscribe(c queue.Claim, deliver func([]queue.Delivery), failed func(error), cancelled func(queue.Ref, uint64)) (*Subscription, error) {
	sub := &Subscription{shard: s, claim: c, deliver: deliver, failed: failed, cancelled: cancelled}
	return sub, s.inbox.put(&subscribe{sub: sub}, load{})
}

type subscribe struct {
	sub *Subscription
	err error
}

func (c *subscribe) decide(d *decider, _ int64) {
	if c.err = d.subscriptions.begin(c.sub); c.err == nil && d.subscriptions.open != nil {
		d.subscriptions.open[c.sub] = struct{}{}
	}
}

func (c *subscribe) publish(_ *Shard, err error) {
	if err = errors.Join(c.err, err); err != nil {
		c.sub.fail(err)
	}
}

// Credit allows the subscription n more tasks.
func (sub *Subscription) Credit(n int) error {
	return sub.change(func(s *queue.State, w *queue.Waiter) { s.Credit(w, n) })
}

// Sent reports that the subscriber has released this many bytes of delivered payloads. The shard
// limits the payload bytes that were delivered but not released: at this limit, deliveries stop
// until Sent is called.
func (sub *Subscription) Sent(bytes int64) error {
	return sub.change(func(s *queue.State, w *queue.Waiter) { s.Sent(w, bytes) })
}

// giveBack returns to the waiter the credit and the bytes of tasks that were leased but could not
// be delivered. The subscriber never received these tasks, so it cannot call Sent for them.
func (sub *Subscription) giveBack(credit int, bytes int64) {
	// A stopping shard refuses the change. This is harmless, because it delivers no more tasks.
	_ = sub.change(func(s *queue.State, w *queue.Waiter) {
		s.Sent(w, bytes)
		s.Credit(w, credit)
	})
}

func (sub *Subscription) change(to func(*queue.State, *queue.Waiter)) error {
	return sub.shard.inbox.put(&change{sub: sub, to: to}, load{})
}

// change applies a function to the waiter of a subscription. It does nothing if the subscription
// failed to start or has ended, since it then has no waiter.
type change struct {
	sub *Subscription
	to  func(*queue.State, *queue.Waiter)
}

func (c *change) decide(d *decider, _ int64) {
	if c.sub.waiter != nil {
		c.to(d.state, c.sub.waiter)
	}
}

func (*change) publish(*Shard, error) {}

// Close ends the subscription and then calls closed, once; deliver and cancelled are not called
// after that.
// Delivered tasks remain leased until they are settled or their leases expire. closed may be called
// before Close returns.
func (sub *Subscription) Close(closed func()) {
	if sub.shard.inbox.put(&unsubscribe{sub: sub, closed: closed}, load{}) != nil {
		closed() // the shard is stopping
	}
}

type unsubscribe struct {
	sub    *Subscription
	closed func()
}

func (c *unsubscribe) decide(d *decider, _ int64) {
	if c.sub.waiter != nil {
		d.subscriptions.leaving = append(d.subscriptions.leaving, c.sub)
	}
}

func (c *unsubscribe) publish(*Shard, error) { c.closed() }
