package duet

import (
	"context"
	"fmt"
	"time"
)

const (
	// openShare is the part of the base's closed rate at which tasks arrive in the open phase: low enough that the latency is that of
	// cycles and not of a queue of tasks, which magnifies every disturbance of the host.
	openShare = 0.3
	// openLength is longer than the slices of the closed phase, since the begin and the end of a slice are not like its middle. Slices of
	// 250 ms were tried: the sides then alternate so rarely that the median latencies of identical builds differ by 13 % from generation to
	// generation, against 6 % with these in half of the time.
	// With ten pairs of slices, the ratio of the 99th percentiles of identical builds has a standard deviation of 20 % over generations, without the
	// few in which a stall of the host decides it. That is enough for the margins of latencies; twenty pairs would cost one generation of five.
	openLength = 50 * time.Millisecond
	openPairs  = 10
)

// open gives both sides the same arrivals, in so many alternating slices each, or at once.
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
