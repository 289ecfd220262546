package result

// Lock is a synchronization point that goroutines of a server waited for in the profiled windows.
// Its waiters come from the block profile and its holders from the mutex profile.
type Lock struct {
	Point int `json:"point,omitempty"` // number of its point in a run with a sweep
	// Node is the id of the node in a cluster, or GeneratorNode for the generator.
	Node string `json:"node,omitempty"`
	// Name is the engine's name of the lock, like "shard.inbox.mu", or else the function that waits
	// for it.
	Name string `json:"name"`
	// Kind is "mutex", "rwmutex", "channel", "select", "cond", "waitgroup" or "runtime".
	Kind string `json:"kind"`
	// WaitNs is the total wait time of all waiters; Share is its share of all waiting for locks and
	// channels on the same node, 0 to 1. Two kinds of waiting are excluded: for work, as in an idle
	// worker, and for an answer, which is attributed to the process that sends the answer.
	WaitNs         float64 `json:"wait_ns"`
	WaitNsPerCycle float64 `json:"wait_ns_per_cycle"`
	Share          float64 `json:"share"`
	Waits          uint64  `json:"waits"` // number of waits, scaled up from the samples
	// Holders are the functions whose unlocking ended the waits, or for a channel the functions
	// that empty it. Waiters are the functions that waited. Each list contains at most five
	// functions with their parts of WaitNs, largest first.
	Holders []LockSite `json:"holders,omitempty"`
	Waiters []LockSite `json:"waiters,omitempty"`
}

// LockSite is a function that holds a lock or waits for it.
type LockSite struct {
	Function string `json:"function"`
	// From is the function that called into the type of which Function is a method; "" if there is
	// none.
	From   string  `json:"from,omitempty"`
	WaitNs float64 `json:"wait_ns"`
	Share  float64 `json:"share"` // of the lock's wait time, 0 to 1
}

// Charge is the amount that a profile charges to one function of the server's own code: the
// innermost such function in each stack. A stack without such a function is charged to the garbage
// collection, the scheduling, or its package.
type Charge struct {
	Function string `json:"function"`
	// Callers are a few functions of the server's own code that called Function in its heaviest
	// stack, innermost first.
	Callers []string `json:"callers,omitempty"`
	Value   float64  `json:"value"`   // in the profile's unit
	Samples uint64   `json:"samples"` // number of the profile's samples
}

// Charges to the runtime instead of a function.
const (
	ChargeGC         = "runtime: garbage collection"
	ChargeScheduling = "runtime: scheduling"
)

// RenamedTo is between the names of a function in the base and in the change, in the name of a
// function that was renamed or moved.
const RenamedTo = " → "
