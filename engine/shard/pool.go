package shard

import (
	"math/bits"
	"sync/atomic"

	"github.com/pronybench/prony/engine/queue"
)

// pool is the credit of one subscriber at all shards of a group. The deciding goroutines take
// credit only when they have a task to lease, so that no credit is stuck at a shard without tasks.
// A shard that finds the pool empty is marked as starved. New credit goes to starved shards first,
// and only the rest stays in the pool. So faster shards cannot take a slower shard's share.
//
// Stride scheduling (Waldspurger and Weihl, MIT LCS TM-528, 1995) orders the starved shards: each
// shard has a pass, a number that grows by the credit the shard receives, divided by its weight.
// The shard with the lowest pass gets credit first.
//
// The credit and the set of starved shards are stored in one atomic word, which is changed by
// compare-and-swap, so no lock is needed:
//
//	starved shards: 32 bits │ credit: 32
//
// While a shard is starved, the credit is 0.
type pool struct {
	word   atomic.Uint64
	once   bool // all credit goes to one shard
	subs   []*Subscription
	shares [ShardsMax]poolPass
	// pass is approximately the pass of the shard that received credit last.
	pass atomic.Int64
}

// poolPass determines a shard's position in the order of the starved shards. It may briefly
// disagree with the word. This is harmless, because it affects only the order, not the total
// credit.
type poolPass struct {
	pass   atomic.Int64
	weight atomic.Int64 // as of the shard's last take
}

const (
	poolCreditMax = 1 << 24
	// If the credit is at least poolSlice times the number of starved shards, it is divided among
	// them. Less credit goes to a single shard, because dividing it would make many small batches.
	poolSlice = 16
	// poolStride is the growth of a pass for one credit at weight 1.
	poolStride = 1 << 24
	// poolLag limits how far, in units of credit, the pass of a shard that needed no credit for a
	// while may lag behind the others. When the shard needs credit again, it receives at most this
	// much credit before the others.
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

// take returns how many of n tasks a shard may lease, and removes that credit from the pool. If it
// returns 0, it marks the shard as starved.
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

// charge advances a shard's pass by received credit, or reduces it by returned credit (n < 0).
func (s *poolPass) charge(n int) { s.pass.Add(int64(n) * poolStride / s.weight.Load()) }

func (p *pool) catchUp(s *poolPass) {
	if least := p.pass.Load() - poolLag*poolStride/s.weight.Load(); s.pass.Load() < least {
		s.pass.Store(least)
	}
}

func (p *pool) giveBack(shard, n int) {
	p.shares[shard].charge(-n)
	p.add(n)
}

// add adds credit, which goes to starved shards first. If the credit in the pool would exceed
// poolCreditMax, it changes nothing and returns false.
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
			// A closed shard needs no credit: its subscriptions end.
			_ = p.subs[shard].Credit(n)
		}
		return true
	}
}

// feed moves credit to starved shards. If there is enough credit (see poolSlice), it divides the
// credit by the shards' weights. Otherwise the starved shard with the lowest pass gets all of it.
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
	w.give(first, w.credit, given) // the rest, or all of it
}

func (w *poolWord) give(shard, n int, given *[ShardsMax]int) {
	n = min(n, w.credit)
	if n == 0 {
		return // the shard stays starved
	}
	w.starved &^= 1 << shard
	w.credit -= n
	given[shard] = n
}

type poolShare struct {
	pool  *pool
	shard int
}

var _ queue.Pool = poolShare{}

func (s poolShare) Take(n, weight int) int { return s.pool.take(s.shard, n, weight) }

// Return gives credit back. The pool has room for it, because it came from the pool.
func (s poolShare) Return(n int) { s.pool.giveBack(s.shard, n) }
