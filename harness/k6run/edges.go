package k6run

import "time"

// edges are when the parts of a round are.
type edges struct {
	epoch, windowStart, windowEnd, over time.Time
}

// edges are those of a load that begins at a time.
func (p Plan) edges(epoch time.Time) edges {
	e := edges{epoch: epoch, windowStart: epoch.Add(p.Phases.Warmup)}
	e.windowEnd = e.windowStart.Add(p.Phases.Window)
	e.over = e.windowEnd.Add(p.Phases.Drain)
	return e
}
