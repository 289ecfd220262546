package queue

import (
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"
)

// GroupHeader is the key of the header that names the group of a task, such as a customer.
const GroupHeader = "group"

// HashGroup returns the number of a group in all shards; 0 for "", which is no group. Its
// results must never change, because they are stored with the tasks.
func HashGroup(name string) uint64 {
	if name == "" {
		return 0
	}
	return max(1, xxhash.Sum64String(name))
}

// Limit bounds the leases of a queue, or of each group of its tasks. A field that is 0 sets no
// bound.
type Limit struct {
	LeasedMax uint32 // tasks leased at once
	RateMilli uint64 // leases per 1,000 seconds
	// Burst is the number of leases that may start together after a time without leases; 0 means
	// the leases of one second.
	Burst uint32
}

// The largest values of a Limit.
const (
	leasedMaxMost = 1_000_000
	rateMilliMost = 1_000_000_000
	burstMost     = 1_000_000
)

// RateMilli converts a rate in leases per second. A rate that a Limit cannot represent becomes one
// that CheckPolicy refuses.
func RateMilli(perS float64) uint64 {
	milli := math.Round(perS * 1_000)
	if perS == 0 || milli >= 1 && milli <= rateMilliMost {
		return uint64(milli)
	}
	return math.MaxUint64
}

// RatePerS returns the rate in leases per second.
func (l Limit) RatePerS() float64 { return float64(l.RateMilli) / 1_000 }

func (l Limit) check(field string) *FieldError {
	switch {
	case l.LeasedMax > leasedMaxMost:
		return Outside(field+".leased_max", l.LeasedMax, 0, uint64(leasedMaxMost))
	case l.RateMilli > rateMilliMost:
		return &FieldError{field + ".rate_per_s", fmt.Sprintf("must be 0, or 0.001 to %d", rateMilliMost/1_000)}
	case l.Burst > burstMost:
		return Outside(field+".burst", l.Burst, 0, uint64(burstMost))
	case l.Burst > 0 && l.RateMilli == 0:
		return &FieldError{field + ".burst", "is set without rate_per_s: set both"}
	}
	return nil
}

// CheckShards checks whether the limits of a policy can be applied by a number of shards.
func (p *Policy) CheckShards(shards int) *FieldError {
	if n := p.Limit.LeasedMax; p.Placement == Spread && n > 0 && int(n) < shards {
		return &FieldError{"policy.limit.leased_max", fmt.Sprintf(
			"is %d, but each of the %d shards that store a spread queue needs at least 1: raise it, or use placement ORDERED", n, shards)}
	}
	return nil
}

func (l Limit) burst() uint64 {
	return orDefault(uint64(l.Burst), max(1, (l.RateMilli+999)/1_000))
}

// share returns the part of a limit that applies to one of several shards, which together store the
// tasks of the queue. The numbers of leases and the rates of all parts add up to those of the limit.
// Each part has a burst of at least 1.
func (l Limit) share(shard, shards int) Limit {
	if shards <= 1 {
		return l
	}
	part := func(total uint64) uint64 {
		n := total / uint64(shards)
		if uint64(shard) < total%uint64(shards) {
			n++
		}
		return max(1, n)
	}
	burst := part(l.burst())
	if l.LeasedMax > 0 {
		l.LeasedMax = uint32(part(uint64(l.LeasedMax)))
	}
	if l.RateMilli > 0 {
		l.RateMilli, l.Burst = part(l.RateMilli), uint32(burst)
	}
	return l
}

// tokenUnits is the number of units of one token. A rate in leases per 1,000 seconds is the same
// number of units per millisecond, so that no fraction of a token is lost.
const tokenUnits = 1_000_000

// bound is a Limit in the units of a bucket.
type bound struct {
	leasedMax uint32
	rate      int64 // units per millisecond; 0 means no limit
	// full is the level of a full bucket. It includes less than one token beyond the burst, so that
	// a wait that ends up to a millisecond late does not lower the rate.
	full int64
}

func (l Limit) bound() bound {
	b := bound{leasedMax: l.LeasedMax, rate: int64(l.RateMilli)}
	if b.rate > 0 {
		b.full = int64(l.burst())*tokenUnits + min(b.rate, tokenUnits-1)
	}
	return b
}

func (b *bound) on() bool { return b.leasedMax > 0 || b.rate > 0 }

// bucket is a token bucket. It starts full.
type bucket struct {
	level int64 // units at the time atMs
	atMs  int64
}

func (k *bucket) refill(b *bound, nowMs int64) {
	if nowMs <= k.atMs {
		return
	}
	if ms := nowMs - k.atMs; k.level < b.full && ms <= (b.full-k.level)/b.rate {
		k.level += ms * b.rate
	} else {
		k.level = b.full
	}
	k.atMs = nowMs
}

// reaches returns the time when the bucket, which was refilled, contains a number of units.
func (k *bucket) reaches(b *bound, level int64) int64 {
	if k.level >= level {
		return k.atMs
	}
	return k.atMs + (level-k.level+b.rate-1)/b.rate
}

// rebound changes the bound of a bucket. A full bucket stays full.
func (k *bucket) rebound(from, to *bound, nowMs int64) {
	switch {
	case to.rate == 0:
		return
	case from.rate == 0:
		k.level, k.atMs = to.full, nowMs
		return
	}
	if k.refill(from, nowMs); k.level >= from.full {
		k.level = to.full
	}
	k.level = min(k.level, to.full)
	k.atMs = max(k.atMs, nowMs)
}

// room returns how many more tasks may be leased.
func (b *bound) room(leased uint64, k *bucket, nowMs int64) int {
	n := uint64(math.MaxInt32)
	if b.leasedMax > 0 {
		n = uint64(b.leasedMax) - min(leased, uint64(b.leasedMax))
	}
	if b.rate > 0 && n > 0 {
		k.refill(b, nowMs)
		n = min(n, uint64(k.level/tokenUnits))
	}
	return int(n)
}
