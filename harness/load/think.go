package load

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// thinking draws the times that a worker slot takes between its claims and their completions. One goroutine uses it.
type thinking struct {
	scenario.Think
	draw *rand.Rand
}

// thinkStream is where the random streams of worker slots begin, beyond those of producers.
const thinkStream = 1 << 32

// newThinking returns the times of a slot: with the same seed, the same times.
func newThinking(w scenario.Workload, slot int) thinking {
	return thinking{Think: w.Think, draw: rand.New(rand.NewPCG(uint64(w.Seed), thinkStream+uint64(slot)))}
}

// next returns the time for the next claim.
func (t *thinking) next() time.Duration {
	switch t.Kind {
	case scenario.ThinkUniform:
		return t.Min + time.Duration(t.draw.Int64N(int64(t.Max-t.Min)+1))
	case scenario.ThinkExponential:
		return min(t.Max, time.Duration(t.draw.ExpFloat64()*float64(t.Mean)))
	}
	return t.Max
}

// pause waits for the time of one claim, or until ctx is done.
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
