package queue

import "math"

// rateTauMs is the time constant of a queue's rates, in milliseconds: after this time, the weight
// of an event in the rate has fallen to 1/e.
const rateTauMs = 60_000

func decayed(sum float64, atMs, nowMs int64) float64 {
	if nowMs <= atMs {
		return sum
	}
	return sum * math.Exp(-float64(nowMs-atMs)/rateTauMs)
}

// rates contains exponentially decaying counts of a queue's events. They are updated once per
// commit that changes the queue.
type rates struct {
	enqueued, completed         float64
	atMs                        int64
	enqueuedSeen, completedSeen uint64
}

func (r *rates) update(c *Counts, now int64) {
	r.enqueued = decayed(r.enqueued, r.atMs, now) + float64(c.Enqueued-r.enqueuedSeen)
	r.completed = decayed(r.completed, r.atMs, now) + float64(c.Completed-r.completedSeen)
	r.atMs, r.enqueuedSeen, r.completedSeen = now, c.Enqueued, c.Completed
}

// perSecond returns the rates of events per second, approximately over the last minute.
func (r *rates) perSecond(now int64) (enqueued, completed float64) {
	const tauS = rateTauMs / 1_000
	return decayed(r.enqueued, r.atMs, now) / tauS, decayed(r.completed, r.atMs, now) / tauS
}
