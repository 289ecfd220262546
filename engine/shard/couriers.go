package shard

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"time"

	"github.com/pronybench/prony/engine/queue"
)

const (
	// courierMessagesMax and courierBytesMax limit the messages of one delivery. The last message may
	// exceed courierBytesMax.
	courierMessagesMax = 256
	courierBytesMax    = 1 << 20
	// courierTimeout limits one delivery to another shard.
	courierTimeout = 10 * time.Second
	// A failed delivery is repeated after courierWaitMin, and then after twice the time before, at
	// most courierWaitMax.
	courierWaitMin = 20 * time.Millisecond
	courierWaitMax = 2 * time.Second
)

// couriers delivers the stored messages of a shard: for each shard that has messages, one goroutine
// runs until all are delivered. It delivers the oldest messages, waits until their effects are durable,
// and then removes them.
type couriers struct {
	shard *Shard
	ctx   context.Context // ends when the shard stops
	stop  context.CancelFunc

	mu      sync.Mutex
	running uint32 // bit n is set while a goroutine delivers the messages to shard n
	more    uint32 // messages to shard n were sent since its goroutine last read them
	below   uint64 // messages with lower Seqs are durable
	// from has, for each shard, a lower bound of the Seqs of its messages, so that the removed ones are
	// not read again.
	from [ShardsMax]uint64
}

// wake starts the delivery of durable messages. Bit n of to stands for shard n. The Seqs of all durable
// messages are less than below. A store shows messages before they are durable, and they must not take
// effect in other shards until then.
func (c *couriers) wake(to uint32, below uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.more |= to
	c.below = max(c.below, below)
	start := to &^ c.running
	if c.ctx.Err() != nil {
		return
	}
	c.running |= start
	for ; start != 0; start &= start - 1 {
		n := bits.TrailingZeros32(start)
		c.shard.reading.Go(func() { c.run(uint16(n)) })
	}
}

// begin is called before messages are read.
func (c *couriers) begin(to uint16) (from, below uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.more &^= 1 << to
	return c.from[to], c.below
}

func (c *couriers) readFrom(to uint16, seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from[to] = seq
}

// rest reports whether the goroutine ends, because it read no messages and none were sent since.
func (c *couriers) rest(to uint16) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.more&(1<<to) != 0 {
		return false
	}
	c.running &^= 1 << to
	return true
}

func (c *couriers) run(to uint16) {
	wait := courierWaitMin
	timer := time.NewTimer(0)
	defer timer.Stop()
	for c.ctx.Err() == nil {
		from, below := c.begin(to)
		messages, err := c.shard.store.Messages(to, from, below, courierMessagesMax, courierBytesMax)
		switch {
		case err != nil:
			c.shard.fail(fmt.Errorf("read messages to shard %d: %w", to, err))
			return
		case len(messages) == 0:
			if c.rest(to) {
				return
			}
			continue
		}
		c.readFrom(to, messages[0].Seq)
		switch err = c.deliver(to, messages); {
		case err == nil:
			wait = courierWaitMin
			continue
		case errors.Is(err, ErrClosed):
			return // the shard stops
		}
		c.shard.opts.Log.Debug("messages could not be delivered", "to", to, "error", err)
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-c.ctx.Done():
		}
		wait = min(2*wait, courierWaitMax)
	}
}

func (c *couriers) deliver(to uint16, messages []queue.Message) error {
	s := c.shard
	if int(to) == s.opts.Number {
		_, err := AwaitReply(c.ctx, func(reply func(struct{}, error)) error { return s.receive(ownBatch(messages), true, reply) })
		return err
	}
	if s.opts.Deliver == nil {
		return &NotLeaderError{int(to)}
	}
	ctx, cancel := context.WithTimeout(c.ctx, courierTimeout)
	defer cancel()
	if err := s.opts.Deliver(ctx, to, messages); err != nil {
		return fmt.Errorf("the other shard: %s", err.Error()) // its ErrClosed is not that of this shard
	}
	_, err := AwaitReply(c.ctx, func(reply func(struct{}, error)) error { return s.delivered(to, messages, reply) })
	return err
}

// ownBatch returns the first messages that can be applied together. Of the messages that process
// records of one task, only the first can.
func ownBatch(messages []queue.Message) []queue.Message {
	works := map[queue.Ref]bool{}
	for i := range messages {
		m := &messages[i]
		if works[m.Ref] {
			return messages[:i]
		}
		works[m.Ref] = m.Kind == queue.EndedTask || m.Kind == queue.DroppedTask
	}
	return messages
}
