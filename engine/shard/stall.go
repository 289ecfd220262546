package shard

import (
	"sync/atomic"
	"time"
)

// stage says since when a goroutine of the shard has been at one batch.
type stage struct{ sinceNs atomic.Int64 } // since processStart; 0 when it is idle

var processStart = time.Now()

// begin and end are called by the goroutine.
func (g *stage) begin() { g.sinceNs.Store(max(1, int64(time.Since(processStart)))) }
func (g *stage) end()   { g.sinceNs.Store(0) }

func (g *stage) age() time.Duration {
	since := g.sinceNs.Load()
	if since == 0 {
		return 0
	}
	return time.Since(processStart) - time.Duration(since)
}

// UnderWay returns how long the shard has been at one batch: deciding and submitting it, or waiting until it is
// durable. It is 0 when the shard is idle, and well under a second unless the file system stalls.
func (s *Shard) UnderWay() time.Duration { return max(s.deciding.age(), s.releasing.age()) }

// UnderWay returns which shard has been at one batch for longest, and for how long.
func (g *Group) UnderWay() (shard int, longest time.Duration) {
	v := g.here.Load()
	for _, i := range v.led {
		if d := v.shards[i].UnderWay(); d > longest {
			shard, longest = i, d
		}
	}
	return shard, longest
}
