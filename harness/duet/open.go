package duet

import (
	"context"
	"fmt"
	"time"
)

const (
	// openShare is the rate of arrivals in the open phase, as a fraction of the base's rate in the
	// closed phase. It is low enough that tasks do not wait in a queue. Otherwise the latency would
	// mostly be the wait in that queue, and every disturbance of the host would be magnified.
	openShare = 0.3
	// openLength is the length of a slice of the open phase. It is longer than a slice of the
	// closed phase, because the start and the end of a slice differ from its middle. With slices of
	// 250 ms the sides alternate so rarely that the median latencies of identical builds differed
	// by 13 % between generations. With slices of openLength they differed by 6 %, in half the
	// time. With ten pairs of slices, the ratio of the 99th percentiles of identical builds has a
	// standard deviation of 20 % over generations. This figure omits the few generations that a
	// stall of the host dominates. That is precise enough for the margins of latencies. Twenty
	// pairs would reduce the number of generations by a fifth.
	openLength = 50 * time.Millisecond
	openPairs  = 10
)

// open sends the same arrivals to both sides. count is the number of slices per side. The slices of
// the two sides alternate or run at the same time.
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
