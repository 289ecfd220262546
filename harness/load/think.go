package load

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// thinking draws the times that a worker slot waits between its claims and their completions. It is
// not safe for concurrent use.
type thinking struct {
	scenario.Think
	draw *rand.Rand
}

// thinkStream is the number of the first random stream of worker slots. Producers use the streams
// with lower numbers.
const thinkStream = 1 << 32

// newThinking returns the think times of a slot. The same seed gives the same times.
func newThinking(w scenario.Workload, slot int) thinking {
	return thinking{Think: w.Think, draw: rand.New(rand.NewPCG(uint64(w.Seed), thinkStream+uint64(slot)))}
}

func (t *thinking) next() time.Duration {
	switch t.Kind {
	case scenario.ThinkUniform:
		return t.Min + time.Duration(t.draw.Int64N(int64(t.Max-t.Min)+1))
	case scenario.ThinkExponential:
		return min(t.Max, time.Duration(t.draw.ExpFloat64()*float64(t.Mean)))
	}
	return t.Max
}

func (t *thinking) pause(ctx context.Context) {
	d := t.next()
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
