package fault

import (
	"context"
	"time"
)

// Sample reads the number of cycles every SampleEvery, starting at began. It ends when the window
// has passed or ctx is done.
func Sample(ctx context.Context, began time.Time, window time.Duration, cycles func() uint64) Series {
	ticker := time.NewTicker(SampleEvery)
	defer ticker.Stop()
	series := make(Series, 0, int(window/SampleEvery)+2)
	for {
		at := time.Since(began)
		series = append(series, Point{At: at, Total: cycles()})
		if at >= window {
			return series
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return series
		}
	}
}
