package result

// Trace is an execution trace of a server, of the seconds before a cycle was slower than it may be.
type Trace struct {
	Node      string  `json:"node,omitempty"` // the id of the node, of a cluster
	File      string  `json:"file"`           // in the run folder; go tool trace reads it
	AtS       float64 `json:"at_s"`           // when the cycle was completed, from the window's start
	LatencyMs float64 `json:"latency_ms"`     // of the cycle
	CeilingMs float64 `json:"ceiling_ms"`     // which it exceeded
}
