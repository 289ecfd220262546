package shard

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/engine/queue"
)

// GroupSubscription is a waiter at every shard of a group. Its credit is shared by all shards. Its
// methods are safe for concurrent use.
type GroupSubscription struct {
	group *Group
	subs  []*Subscription // by shard; nil for shards from which it gets no tasks
	one   *Subscription   // the only subscription; nil if there are several
	pool  *pool           // nil with one shard, whose state then stores the credit
}

// subscriberBytesMax approximately limits the payload bytes that all shards together deliver to a
// subscriber until it calls Sent.
const subscriberBytesMax = 8 << 20

// Subscribe adds a waiter to every shard that this node serves. The waiter's credit is divided
// among its queues by their weights over all shards, on the assumption that a spread queue has
// equally many tasks in each shard. The shards' publishing goroutines call deliver, possibly
// concurrently, with leased tasks once the leases are durable; if c.Once is set, they call it at
// most once. They call cancelled in the same way, for each lease of the subscription whose task was
// cancelled, unless c.Once is set or cancelled is nil. failed is called at most once, if the
// subscription cannot be served. None of the functions may block.
//
// All shards together deliver at most c.Credit tasks, plus the credit that Credit adds.
func (g *Group) Subscribe(c queue.Claim, deliver func(shard uint16, ds []queue.Delivery), failed func(error),
	cancelled func(shard uint16, ref queue.Ref, token uint64),
) (*GroupSubscription, error) {
	v := g.here.Load()
	if len(v.led) == 0 {
		return nil, &NotLeaderError{0}
	}
	sub := &GroupSubscription{group: g, subs: make([]*Subscription, g.size)}
	if c.BytesMax == 0 {
		c.BytesMax = subscriberBytesMax
	}
	if len(v.led) > 1 {
		if c.Credit > poolCreditMax {
			return nil, errTooMuchCredit
		}
		sub.pool = &pool{once: c.Once, subs: sub.subs}
		sub.pool.word.Store(poolWord{credit: c.Credit}.pack())
		c.Credit = 0
		if !c.Once { // a Once claim gets its tasks from one shard only
			c.BytesMax = max(1, c.BytesMax/int64(len(v.led)))
		}
	}
	if g.size > 1 {
		var once sync.Once
		first := failed
		failed = func(err error) { once.Do(func() { first(err) }) }
	}
	// complete subs before a waiter uses the pool
	for _, i := range v.led {
		if sub.pool != nil {
			c.Pool, c.States = poolShare{sub.pool, i}, len(v.led)
		}
		sub.subs[i] = &Subscription{
			shard: v.shards[i], claim: c, failed: failed,
			deliver: func(ds []queue.Delivery) { deliver(uint16(i), ds) },
		}
		if cancelled != nil {
			sub.subs[i].cancelled = func(ref queue.Ref, token uint64) { cancelled(uint16(i), ref, token) }
		}
	}
	for k, i := range v.led {
		sub.one = sub.subs[i]
		if err := sub.one.shard.inbox.put(&subscribe{sub: sub.one}, load{}); err != nil {
			for _, before := range v.led[:k] {
				sub.subs[before].Close(func() {})
			}
			return nil, err
		}
	}
	if len(v.led) > 1 {
		sub.one = nil
	}
	if g.subs == nil {
		return sub, nil
	}
	g.mu.Lock()
	g.subs[sub] = failed
	changed := !slices.Equal(v.led, g.here.Load().led)
	g.mu.Unlock()
	if changed { // Lead or Lose ran after v was loaded and missed this subscription
		failed(ErrRoutesChanged)
	}
	return sub, nil
}

// Credit allows the subscription n more tasks, from any shard. With several shards, it fails if the
// unused credit would exceed poolCreditMax.
func (s *GroupSubscription) Credit(n int) error {
	if s.pool == nil {
		return s.one.Credit(n)
	}
	if !s.pool.add(n) {
		return errTooMuchCredit
	}
	return nil
}

// Sent reports that the subscriber has released this many bytes of payloads that the shard
// delivered. The payload bytes that a subscriber has not released are limited. It should therefore
// call Sent whenever it has released about 1 MiB, divided by the number of shards, of a shard's
// payloads.
func (s *GroupSubscription) Sent(shard uint16, bytes int64) error {
	return s.subs[shard].Sent(bytes)
}

// Close ends the subscription at all shards and then calls closed; deliver and cancelled are not
// called after that. Delivered tasks remain leased until they are settled or their leases expire.
func (s *GroupSubscription) Close(closed func()) {
	if s.group.subs != nil {
		s.group.mu.Lock()
		delete(s.group.subs, s)
		s.group.mu.Unlock()
	}
	if s.one != nil {
		s.one.Close(closed)
		return
	}
	var left atomic.Int32
	for _, one := range s.subs {
		if one != nil {
			left.Add(1)
		}
	}
	for _, one := range s.subs {
		if one == nil {
			continue
		}
		one.Close(func() {
			if left.Add(-1) == 0 {
				closed()
			}
		})
	}
}

// Paused returns the names of the queues that were paused in any shard when the subscription ended.
// It must be called after Close has called closed.
func (s *GroupSubscription) Paused() (names []string) {
	for _, one := range s.subs {
		if one != nil {
			names = append(names, one.paused...)
		}
	}
	return names
}

// Granted contains the tasks that one shard leased to a claim.
type Granted struct {
	Shard uint16
	Tasks []queue.Delivery
	// Paused lists the names of the claim's queues that are paused in a shard. It is set only if
	// the claim got no task.
	Paused []string
}

// Claim leases tasks that are ready now: up to c.Credit tasks with about c.BytesMax bytes of
// payloads. It leases fewer only if no shard has more ready tasks. If no task is ready and queues
// are paused, the reply is one Granted that contains no tasks and names these queues. reply is
// called once, when the leases are durable; it must not block. If Claim returns an error (ErrClosed
// or ErrNotLeader), reply is not called.
func (g *Group) Claim(c queue.Claim, reply func([]Granted, error)) error {
	c.Once = true
	if c.BytesMax == 0 {
		c.BytesMax = subscriberBytesMax
	}
	v := g.here.Load()
	if len(v.led) == 0 {
		return &NotLeaderError{0}
	}
	p := &poll{here: v, claim: c, left: len(v.led), reply: reply}
	if len(v.led) > 1 {
		p.turn = int((g.polling.Add(1) - 1) % uint32(len(v.led)))
	}
	return p.ask()
}

// poll asks one shard after the other for ready tasks. The deciding and publishing goroutines of
// these shards use it in turn, so it needs no lock.
type poll struct {
	here   *view
	claim  queue.Claim // the remaining credit and bytes
	turn   int         // index in here.led of the current shard
	left   int         // number of shards that have not answered, including the current one
	sub    *Subscription
	err    error
	leased []Granted
	paused []string
	reply  func([]Granted, error)
}

func (p *poll) ask() error {
	s := p.here.shards[p.shard()]
	p.sub = &Subscription{
		shard: s, claim: p.claim, deliver: p.deliver,
		failed: func(error) {}, // publish gets the same error
	}
	return s.inbox.put(p, load{})
}

func (p *poll) shard() int { return p.here.led[p.turn] }

func (p *poll) deliver(ds []queue.Delivery) {
	p.leased = append(p.leased, Granted{Shard: uint16(p.shard()), Tasks: ds})
	p.claim.Credit -= len(ds)
	for i := range ds {
		p.claim.BytesMax -= int64(len(ds[i].Payload))
	}
}

func (p *poll) decide(d *decider, _ int64) {
	if p.err = d.subscriptions.begin(p.sub); p.err == nil {
		d.subscriptions.leaving = append(d.subscriptions.leaving, p.sub)
	}
}

func (p *poll) publish(_ *Shard, err error) {
	err = errors.Join(p.err, err)
	p.left--
	p.paused = append(p.paused, p.sub.paused...)
	if err == nil && p.left > 0 && p.claim.Credit > 0 && p.claim.BytesMax > 0 {
		p.turn = (p.turn + 1) % len(p.here.led)
		if err = p.ask(); err == nil {
			return
		}
	}
	if len(p.leased) > 0 {
		err = nil // the caller must get the leased tasks despite the error
	} else if len(p.paused) > 0 && err == nil {
		p.leased = []Granted{{Shard: uint16(p.shard()), Paused: p.paused}}
	}
	p.reply(p.leased, err)
}
