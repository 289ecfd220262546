package k6run

import "time"

// edges are the times that divide a round: the begin of the warm-up, the window, and the end of the
// drain.
type edges struct {
	epoch, windowStart, windowEnd, over time.Time
}

// edges returns the edges of a load that begins at epoch.
func (p Plan) edges(epoch time.Time) edges {
	e := edges{epoch: epoch, windowStart: epoch.Add(p.Phases.Warmup)}
	e.windowEnd = e.windowStart.Add(p.Phases.Window)
	e.over = e.windowEnd.Add(p.Phases.Drain)
	return e
}
