package queue

import "math"

// rateTauMs is the time constant of a queue's rates: an event counts for 1/e after it.
const rateTauMs = 60_000

// rate is an exponentially decaying count of events.
type rate struct {
	sum  float64
	atMs int64
}

func (r *rate) add(n float64, now int64) {
	r.sum = r.decayed(now) + n
	r.atMs = now
}

func (r *rate) decayed(now int64) float64 {
	if now <= r.atMs {
		return r.sum
	}
	return r.sum * math.Exp(-float64(now-r.atMs)/rateTauMs)
}

// perSecond is the rate of events over about the last minute.
func (r *rate) perSecond(now int64) float64 { return r.decayed(now) / (rateTauMs / 1_000) }

// rates are updated once per commit that touches the queue.
type rates struct {
	enqueued, completed         rate
	enqueuedSeen, completedSeen uint64
}

func (r *rates) update(c *Counts, now int64) {
	r.enqueued.add(float64(c.Enqueued-r.enqueuedSeen), now)
	r.completed.add(float64(c.Completed-r.completedSeen), now)
	r.enqueuedSeen, r.completedSeen = c.Enqueued, c.Completed
}
