package shard

import (
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/internal/stages"
)

// stage records when a goroutine of the shard started to work on its current turn.
type stage struct{ sinceNs atomic.Int64 } // by stages.Now; 0 while the goroutine is idle

// begin returns the current time. Only the goroutine that the stage belongs to calls begin and end;
// any goroutine may call age.
func (g *stage) begin() time.Duration {
	now := stages.Now()
	g.sinceNs.Store(int64(now))
	return now
}
func (g *stage) end() { g.sinceNs.Store(0) }

func (g *stage) age() time.Duration {
	since := g.sinceNs.Load()
	if since == 0 {
		return 0
	}
	return stages.Now() - time.Duration(since)
}

// UnderWay returns how long the shard has worked on its current batch: deciding and submitting it,
// or waiting until it is durable. The time is 0 if the shard is idle, and well under a second
// unless the file system stalls.
func (s *Shard) UnderWay() time.Duration { return max(s.deciding.age(), s.publishing.age()) }

// UnderWay returns the shard that has worked on its current batch for the longest time, and this
// time.
func (g *Group) UnderWay() (shard int, longest time.Duration) {
	v := g.here.Load()
	for _, i := range v.led {
		if d := v.shards[i].UnderWay(); d > longest {
			shard, longest = i, d
		}
	}
	return shard, longest
}
