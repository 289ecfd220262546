package result

// What limits the rate of a result.
const (
	BoundServerCPU = "server CPU"
	BoundClientCPU = "client CPU"
	BoundHostCPU   = "host CPU" // that servers and load generator share
	BoundGoroutine = "one goroutine"
	BoundDisk      = "disk"
	BoundNetwork   = "network"
	BoundLock      = "lock"
	BoundWaiting   = "waiting" // for answers, or for the load's own schedule
)

// Bound says what limits the rate of a result.
type Bound struct {
	By       string `json:"by"`       // a constant above
	Sentence string `json:"sentence"` // with the evidence, for a person
}
