package result

// Lock is something that goroutines of a server waited for in the profiled windows: the waiters come from the block
// profile, the holders from the mutex profile.
type Lock struct {
	Point int    `json:"point,omitempty"` // the number of its point, of a run with a sweep
	Node  string `json:"node,omitempty"`  // the id of the node, of a cluster; GeneratorNode of the generator
	// Name is what the engine calls the lock, "shard.inbox.mu", or else the function that waits for it.
	Name string `json:"name"`
	Kind string `json:"kind"` // "mutex", "rwmutex", "channel", "select", "cond", "waitgroup" or "runtime"
	// WaitNs is how long all waiters waited together; Share is its part of all waiting for locks and channels of the same
	// node, 0 to 1. Waiting for work, as an idle worker does, and for an answer, which is in the account of who gives it,
	// is not for a lock and not in it.
	WaitNs         float64 `json:"wait_ns"`
	WaitNsPerCycle float64 `json:"wait_ns_per_cycle"`
	Share          float64 `json:"share"`
	Waits          uint64  `json:"waits"` // how often, scaled up from what was sampled
	// Holders are the functions whose unlocking ended the waits, of a channel the one that empties it, and Waiters those
	// that waited, each with its part of WaitNs, the largest first, at most five.
	Holders []LockSite `json:"holders,omitempty"`
	Waiters []LockSite `json:"waiters,omitempty"`
}

// LockSite is a function that holds a lock or waits for it.
type LockSite struct {
	Function string `json:"function"`
	// From is the function that called into the type that Function is a method of; "" where there is none.
	From   string  `json:"from,omitempty"`
	WaitNs float64 `json:"wait_ns"`
	Share  float64 `json:"share"` // of the lock's, 0 to 1
}
