package shard

import (
	"math/bits"
	"sync/atomic"

	"github.com/pronybench/prony/engine/queue"
)

// pool is the credit that one subscriber has at all shards of a group. The deciding goroutines take from it
// when they have a task to hand out, so that credit is never stuck at a shard that has none. A shard that finds
// it empty is starved: what comes next goes to starved shards, and only what they all do not need stays in the
// pool. So a shard can't be kept from its share by quicker ones.
//
// Which of the starved shards goes first is decided by stride scheduling (Waldspurger and Weihl, MIT LCS TM-528,
// 1995): each has a pass, which grows by what it is given, the less the more it weighs, and the lowest goes first.
//
// Credit and starved shards are one word that is swapped as a whole, and nobody waits for anybody:
//
//	starved shards: 32 bits │ credit: 32
//
// While a shard is starved the credit is 0.
type pool struct {
	word   atomic.Uint64
	once   bool // who takes, takes all
	subs   []*Subscription
	shares [ShardsMax]poolPass
	// pass is about that of the shard that was fed last.
	pass atomic.Int64
}

// poolPass is what decides when a shard's turn is. It need not agree with the word at every moment: it is about
// who goes first, not about how much there is.
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
	// poolLag is how much credit a shard may be behind the others, having needed none: that is what it is given
	// before them when it comes back.
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

// charge counts credit that a shard was given, or gave back.
func (s *poolPass) charge(n int) { s.pass.Add(int64(n) * poolStride / s.weight.Load()) }

// catchUp has a shard that needed nothing for long be not too far behind the others.
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

// feed hands the credit to starved shards: plenty is divided by their weights at once, little goes to one of them.
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

// Return can't find the pool full: what comes back was in it.
func (s poolShare) Return(n int) { s.pool.giveBack(s.shard, n) }
