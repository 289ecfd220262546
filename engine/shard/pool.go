package shard

import (
	"math/bits"
	"sync/atomic"

	"github.com/pronybench/prony/engine/queue"
)

// pool is the credit that one subscriber has at all shards of a group. The deciding goroutines take from it
// when they have a task to hand out, so that credit is never stuck at a shard that has none. A shard that finds
// it empty is starved: what comes next goes to the starved shards in turn, and only what they all do not need
// stays in the pool. So a shard can't be kept from its turn by quicker ones.
//
// All of it is one word that is swapped as a whole, and nobody waits for anybody:
//
//	starved shards: 32 bits │ the shard whose turn is next: 8 │ credit: 24
//
// While a shard is starved the credit is 0.
type pool struct {
	word atomic.Uint64
	once bool // who takes, takes all
	subs []*Subscription
}

const (
	poolCreditBits = 24
	poolCreditMax  = 1<<poolCreditBits - 1
	poolNextBits   = 8
	// poolSliceMin is how much a starved shard is given at least, if there is as much: a few tasks each from many
	// shards make many small batches.
	poolSliceMin = 16
)

type poolWord struct {
	starved uint32
	next    int
	credit  int
}

func (w poolWord) pack() uint64 {
	return uint64(w.starved)<<(poolCreditBits+poolNextBits) | uint64(w.next)<<poolCreditBits | uint64(w.credit)
}

func unpackPool(v uint64) poolWord {
	return poolWord{
		starved: uint32(v >> (poolCreditBits + poolNextBits)),
		next:    int(v >> poolCreditBits & (1<<poolNextBits - 1)),
		credit:  int(v & poolCreditMax),
	}
}

// take returns how many of n tasks a shard may hand out; after 0 it is starved.
func (p *pool) take(shard, n int) int {
	for {
		old := p.word.Load()
		w := unpackPool(old)
		got := min(n, w.credit)
		if got == 0 {
			w.starved |= 1 << shard
		}
		w.credit -= got
		if p.word.CompareAndSwap(old, w.pack()) {
			return got
		}
	}
}

// add puts credit in: starved shards are given it in turn. It reports false, and does nothing, when there
// would be more than poolCreditMax.
func (p *pool) add(n int) bool {
	for {
		old := p.word.Load()
		w := unpackPool(old)
		if n > poolCreditMax-w.credit {
			return false
		}
		w.credit += n
		fed := w
		slice := w.slice(p.once)
		fed.feed(slice, len(p.subs), nil)
		if !p.word.CompareAndSwap(old, fed.pack()) {
			continue
		}
		w.feed(slice, len(p.subs), func(shard, n int) {
			// A shard that is closed needs no credit: its subscriber ends too.
			_ = p.subs[shard].Credit(n)
		})
		return true
	}
}

// slice is how much each starved shard is given.
func (w poolWord) slice(all bool) int {
	if all {
		return w.credit
	}
	starved := max(1, bits.OnesCount32(w.starved))
	return max(poolSliceMin, (w.credit+starved-1)/starved)
}

// feed hands credit to starved shards, in turn, until none is left of the one or the other.
func (w *poolWord) feed(slice, shards int, give func(shard, n int)) {
	for w.starved != 0 && w.credit > 0 {
		shard := w.next
		w.next = (w.next + 1) % shards
		if w.starved&(1<<shard) == 0 {
			continue
		}
		n := min(slice, w.credit)
		w.starved &^= 1 << shard
		w.credit -= n
		if give != nil {
			give(shard, n)
		}
	}
}

// poolShare is the pool as one shard's state sees it.
type poolShare struct {
	pool  *pool
	shard int
}

var _ queue.Pool = poolShare{}

func (s poolShare) Take(n int) int { return s.pool.take(s.shard, n) }

// Return can't find the pool full: what comes back was in it.
func (s poolShare) Return(n int) { s.pool.add(n) }
