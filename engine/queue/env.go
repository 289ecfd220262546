package queue

// env contains what all parts of a State share: the configuration, the time, and the outputs of the
// running turn.
type env struct {
	cfg     Config
	journal Journal
	nowMs   int64 // the time of the last Tick
	worked  int   // number of items processed since the last Worked
	refills []Refill
}

// Worked returns the number of items processed since its last call: tasks enqueued, granted,
// settled or purged, leases expired, records of Refills, waiters visited, and queues whose figures
// were taken.
func (e *env) Worked() int {
	n := e.worked
	e.worked = 0
	return n
}

// Refills returns the Refills that were requested since its last call. The caller must answer each
// Refill once.
func (e *env) Refills() []Refill {
	r := e.refills
	e.refills = nil
	return r
}
