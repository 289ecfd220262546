package queue

import "math"

// retention determines which records of tasks are stored, and for how long: idempotency keys,
// results, histories, and tasks with a time to live.
type retention struct {
	*env
	queues   *queues
	accounts *accounts
	watches  *watches

	keys    buckets
	results buckets

	markedUntilMs int64 // after this time, no mark of a removed task exists
	ttlMs         int64 // a lower bound of the time when the next time to live ends
}

// keepRecovered prevents the deletion of all recovered queues until the last recovered key and
// result are dropped. The state knows neither which queues these belong to, nor which of the keys
// are marks of removed tasks.
func (r *retention) keepRecovered() {
	if n := len(r.keys.live); n > 0 {
		r.markedUntilMs = r.keys.live[n-1]
	}
	for _, q := range r.queues.byID {
		q.keyed(r.markedUntilMs)
		for _, b := range []*buckets{&r.keys, &r.results} {
			if n := len(b.live); n > 0 {
				q.keep(b.live[n-1])
			}
		}
		q.idleMs = recovered
		r.queues.idle.set(q)
	}
}

func (r *retention) dropBuckets(now int64) {
	free := func(tenant string, bytes int64) { r.cfg.Account(tenant).Remove(0, bytes) }
	if last, any := r.keys.drop(now, free); any {
		r.journal.DropKeys(last)
	}
	if last, any := r.results.drop(now, free); any {
		r.journal.DropResults(last)
	}
}

func (r *retention) askExpired() {
	if r.ttlMs <= r.nowMs && r.watches.expiring == nil {
		r.refills = append(r.refills, Refill{Stream: StreamExpired, FromMs: r.nowMs, Limit: r.cfg.SweepMax, BytesMax: r.cfg.RefillBytesMax})
		r.ttlMs, r.watches.expiring = math.MaxInt64, map[Ref]bool{}
	}
}
