package shard

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/engine/queue"
)

// GroupSubscription is a waiter at every shard of a group, with one credit for all of them. Its methods are
// safe for concurrent use.
type GroupSubscription struct {
	subs []*Subscription
	pool *pool // nil with one shard: it has the credit
}

// subscriberBytesMax is about how many bytes of payloads a subscriber is given, by all shards together, before it
// says that it sent some.
const subscriberBytesMax = 8 << 20

// Subscribe makes a waiter at every shard. Queues share its credit by their weights over all shards, taking it that a
// spread queue has as much in each of them. deliver is called from the shards' releasing goroutines, by several at
// once, with leased tasks, once their leases are durable; with c.Once it is called at most once. failed is called
// at most once, if the subscription can't be served. Neither may block.
//
// All shards together deliver no more tasks than c.Credit and what Credit adds to it.
func (g *Group) Subscribe(c queue.Claim, deliver func(shard uint16, ds []queue.Delivery), failed func(error)) (*GroupSubscription, error) {
	sub := &GroupSubscription{subs: make([]*Subscription, len(g.shards))}
	if c.BytesMax == 0 {
		c.BytesMax = subscriberBytesMax
	}
	if len(g.shards) > 1 {
		if c.Credit > poolCreditMax {
			return nil, errTooMuchCredit
		}
		sub.pool = &pool{once: c.Once, subs: sub.subs}
		sub.pool.word.Store(poolWord{credit: c.Credit}.pack())
		c.Credit = 0
		if !c.Once { // the one grant is one shard's
			c.BytesMax = max(1, c.BytesMax/int64(len(g.shards)))
		}
		var once sync.Once
		first := failed
		failed = func(err error) { once.Do(func() { first(err) }) }
	}
	for i, s := range g.shards { // all of them before the first is used: the pool knows them
		if sub.pool != nil {
			c.Pool, c.States = poolShare{sub.pool, i}, len(g.shards)
		}
		sub.subs[i] = &Subscription{
			shard: s, claim: c, failed: failed,
			deliver: func(ds []queue.Delivery) { deliver(uint16(i), ds) },
		}
	}
	for i, one := range sub.subs {
		if err := one.shard.inbox.put(&subscribe{sub: one}, load{}); err != nil {
			for _, before := range sub.subs[:i] {
				before.Close(func() {})
			}
			return nil, err
		}
	}
	return sub, nil
}

var errTooMuchCredit = fmt.Errorf("a subscriber's credit is above %d", poolCreditMax)

// Credit lets the subscription have n more tasks, from whichever shards.
func (s *GroupSubscription) Credit(n int) error {
	if s.pool == nil {
		return s.subs[0].Credit(n)
	}
	if !s.pool.add(n) {
		return errTooMuchCredit
	}
	return nil
}

// Sent says that the subscriber is done with so many bytes of the payloads that a shard delivered. It is given
// more only as it says so, and should after about a MiB from all shards, shared evenly: what was delivered and
// not sent is held in memory.
func (s *GroupSubscription) Sent(shard uint16, bytes int64) error {
	return s.subs[shard].Sent(bytes)
}

// Close ends the subscription and then calls closed: deliver is not called any more. Tasks that
// were delivered stay leased until they are settled or their leases expire.
func (s *GroupSubscription) Close(closed func()) {
	if len(s.subs) == 1 {
		s.subs[0].Close(closed)
		return
	}
	var left atomic.Int32
	left.Store(int32(len(s.subs)))
	for _, one := range s.subs {
		one.Close(func() {
			if left.Add(-1) == 0 {
				closed()
			}
		})
	}
}

// Granted is what one shard leased to a claim.
type Granted struct {
	Shard uint16
	Tasks []queue.Delivery
}

// Claim leases what is ready now: up to c.Credit tasks, with about c.BytesMax bytes of payloads, and fewer only if no
// more are ready in any shard. reply is called once, when the leases are durable; it must not block. Claim returns
// ErrClosed, and then reply is not called.
func (g *Group) Claim(c queue.Claim, reply func([]Granted, error)) error {
	c.Once = true
	if c.BytesMax == 0 {
		c.BytesMax = subscriberBytesMax
	}
	p := &poll{group: g, claim: c, left: len(g.shards), reply: reply}
	if len(g.shards) > 1 {
		p.shard = int((g.polling.Add(1) - 1) % uint32(len(g.shards)))
	}
	return p.ask()
}

// poll asks one shard after the other for what is ready. It is used by one goroutine at a time.
type poll struct {
	group  *Group
	claim  queue.Claim // what is still to be leased
	shard  int         // is asked
	left   int         // to ask, with this one
	sub    *Subscription
	err    error
	leased []Granted
	reply  func([]Granted, error)
}

func (p *poll) ask() error {
	s := p.group.shards[p.shard]
	p.sub = &Subscription{
		shard: s, claim: p.claim, deliver: p.deliver,
		failed: func(error) {}, // release has the error too
	}
	return s.inbox.put(p, load{})
}

func (p *poll) deliver(ds []queue.Delivery) {
	p.leased = append(p.leased, Granted{uint16(p.shard), ds})
	p.claim.Credit -= len(ds)
	for i := range ds {
		p.claim.BytesMax -= int64(len(ds[i].Payload))
	}
}

func (p *poll) decide(s *Shard, _ int64) {
	p.sub.waiter, p.err = s.state.Subscribe(p.claim, p.sub)
	if p.err == nil {
		s.leaving = append(s.leaving, p.sub)
	}
}

func (p *poll) release(_ *Shard, err error) {
	err = errors.Join(p.err, err)
	p.left--
	if err == nil && p.left > 0 && p.claim.Credit > 0 && p.claim.BytesMax > 0 {
		p.shard = (p.shard + 1) % len(p.group.shards)
		if err = p.ask(); err == nil {
			return
		}
	}
	if len(p.leased) > 0 {
		err = nil // what was leased is to be handed out
	}
	p.reply(p.leased, err)
}
