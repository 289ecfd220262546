package result

// Trace is an execution trace of a server, of the seconds before a cycle exceeded its latency
// ceiling.
type Trace struct {
	Node string `json:"node,omitempty"` // id of the node in a cluster
	File string `json:"file"`           // in the run folder; go tool trace reads it
	// AtS is the completion of the cycle, in seconds since the start of the window.
	AtS       float64 `json:"at_s"`
	LatencyMs float64 `json:"latency_ms"` // of the cycle
	CeilingMs float64 `json:"ceiling_ms"` // the exceeded ceiling
}
