package shard

import (
	"math/bits"
	"sync/atomic"

	"github.com/pronybench/prony/engine/queue"
)

// pool is the credit that one subscriber has at all shards of a group. The deciding goroutines take credit when they have a task to hand
// out, so that no credit is stuck at a shard without tasks. A shard that finds the pool empty is starved: new credit goes to starved
// shards first, and only the rest stays in the pool. So faster shards cannot take a slower shard's share.
//
// Which of the starved shards goes first is decided by stride scheduling (Waldspurger and Weihl, MIT LCS TM-528,
// 1995): each has a pass, which grows by the credit it is given divided by its weight, and the shard with the lowest pass goes first.
//
// Credit and starved shards are one word that is swapped as a whole, without a lock:
//
//	starved shards: 32 bits │ credit: 32
//
// While a shard is starved the credit is 0.
type pool struct {
	word   atomic.Uint64
	once   bool // the first shard that takes credit takes all of it
	subs   []*Subscription
	shares [ShardsMax]poolPass
	// pass is about the pass of the shard that was given credit last.
	pass atomic.Int64
}

// poolPass decides when a shard's turn is. It may disagree with the word for a moment: it decides the order, not the amount of credit.
type poolPass struct {
	pass   atomic.Int64
	weight atomic.Int64 // how much of the credit the shard is due, when it was starved last
}

const (
	poolCreditMax = 1 << 24
	// poolSlice is how much each starved shard must have of the credit for it to be divided at once. Less goes to one
	// shard: a few tasks each from many shards make many small batches.
	poolSlice = 16
	// poolStride is by how much a pass grows for one credit, at the weight of 1.
	poolStride = 1 << 24
	// poolLag is how far the pass of a shard that needed no credit for a while may be behind the others', in credit: that much it is given
	// before them when it needs credit again.
	poolLag = 64
)

type poolWord struct {
	starved uint32
	credit  int
}

func (w poolWord) pack() uint64 { return uint64(w.starved)<<32 | uint64(w.credit) }

func unpackPool(v uint64) poolWord {
	return poolWord{starved: uint32(v >> 32), credit: int(v & (1<<32 - 1))}
}

// take returns how many of n tasks a shard may hand out; after 0 it is starved.
func (p *pool) take(shard, n, weight int) int {
	s := &p.shares[shard]
	s.weight.Store(int64(weight))
	for {
		old := p.word.Load()
		w := unpackPool(old)
		got := min(n, w.credit)
		if got == 0 {
			w.starved |= 1 << shard
			p.catchUp(s)
		}
		w.credit -= got
		if p.word.CompareAndSwap(old, w.pack()) {
			s.charge(got)
			return got
		}
	}
}

// charge adds credit that a shard was given, or gave back, to its pass.
func (s *poolPass) charge(n int) { s.pass.Add(int64(n) * poolStride / s.weight.Load()) }

// catchUp bounds how far a shard that needed no credit is behind the others.
func (p *pool) catchUp(s *poolPass) {
	if least := p.pass.Load() - poolLag*poolStride/s.weight.Load(); s.pass.Load() < least {
		s.pass.Store(least)
	}
}

// giveBack returns credit that a shard did not use.
func (p *pool) giveBack(shard, n int) {
	p.shares[shard].charge(-n)
	p.add(n)
}

// add adds credit, which goes to starved shards first. It returns false, and does nothing, if the pool would have more than
// poolCreditMax.
func (p *pool) add(n int) bool {
	for {
		old := p.word.Load()
		w := unpackPool(old)
		if n > poolCreditMax-w.credit {
			return false
		}
		w.credit += n
		var given [ShardsMax]int
		p.feed(&w, &given)
		if !p.word.CompareAndSwap(old, w.pack()) {
			continue
		}
		for shard, n := range given[:len(p.subs)] {
			if n == 0 {
				continue
			}
			s := &p.shares[shard]
			p.pass.Store(s.pass.Load())
			s.charge(n)
			// A shard that is closed needs no credit: its subscriber ends too.
			_ = p.subs[shard].Credit(n)
		}
		return true
	}
}

// feed gives credit to starved shards: much credit is divided by their weights, little goes to one of them.
func (p *pool) feed(w *poolWord, given *[ShardsMax]int) {
	starved := bits.OnesCount32(w.starved)
	if starved == 0 || w.credit == 0 {
		return
	}
	first, sum := -1, int64(0)
	for s := range len(p.subs) {
		if w.starved&(1<<s) == 0 {
			continue
		}
		sum += p.shares[s].weight.Load()
		if first < 0 || p.shares[s].pass.Load() < p.shares[first].pass.Load() {
			first = s
		}
	}
	if starved > 1 && !p.once && w.credit >= poolSlice*starved {
		credit := int64(w.credit)
		for s := range len(p.subs) {
			if s != first && w.starved&(1<<s) != 0 {
				w.give(s, int(max(1, credit*p.shares[s].weight.Load()/sum)), given)
			}
		}
	}
	w.give(first, w.credit, given) // it is at least a slice, or all
}

func (w *poolWord) give(shard, n int, given *[ShardsMax]int) {
	n = min(n, w.credit)
	if n == 0 {
		return // it stays starved
	}
	w.starved &^= 1 << shard
	w.credit -= n
	given[shard] = n
}

// poolShare is the pool as one shard's state sees it.
type poolShare struct {
	pool  *pool
	shard int
}

var _ queue.Pool = poolShare{}

func (s poolShare) Take(n, weight int) int { return s.pool.take(s.shard, n, weight) }

// Return gives credit back. The pool has room for it, because it came from the pool.
func (s poolShare) Return(n int) { s.pool.giveBack(s.shard, n) }
