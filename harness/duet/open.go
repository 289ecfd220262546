package duet

import (
	"context"
	"fmt"
	"time"
)

const (
	// openShare is the rate of arrivals in the open phase as a fraction of the base's closed rate.
	// It is low enough that the latency is that of cycles rather than of a queue of tasks, which
	// would magnify every disturbance of the host.
	openShare = 0.3
	// openLength is longer than the slices of the closed phase, because the start and the end of a
	// slice differ from its middle. With slices of 250 ms the sides alternate so rarely that the
	// median latencies of identical builds differed by 13 % between generations, against 6 % with
	// openLength in half the time. With ten pairs of slices, the ratio of the 99th percentiles of
	// identical builds has a standard deviation of 20 % over generations, without the few in which
	// a stall of the host dominates. That suffices for the margins of latencies. Twenty pairs would
	// reduce the number of generations by a fifth.
	openLength = 50 * time.Millisecond
	openPairs  = 10
)

// open gives both sides the same arrivals, in the given number of slices per side, alternating or
// simultaneous.
func (p *pairs) open(ctx context.Context, perSecond float64, count int) error {
	for range count {
		seed := p.order.Uint64()
		slice := func(side int) error {
			if err := p.parties[side].openSlice(ctx, seed, perSecond, openLength); err != nil {
				return fmt.Errorf("open-loop slice: %w", err)
			}
			return nil
		}
		if p.together {
			if err := atOnce(slice); err != nil {
				return err
			}
			continue
		}
		for _, side := range inOrder(p.order.IntN(2)) {
			if err := of(side, slice(side)); err != nil {
				return err
			}
		}
	}
	return nil
}
