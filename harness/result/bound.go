package result

// The resources that may limit the rate of a result.
const (
	BoundServerCPU = "server CPU"
	BoundClientCPU = "client CPU"
	BoundHostCPU   = "host CPU" // shared by servers and load generator
	BoundGoroutine = "one goroutine"
	BoundDisk      = "disk"
	BoundNetwork   = "network"
	BoundLock      = "lock"
	BoundWaiting   = "waiting" // for answers or for the load's schedule
)

// Bound is the resource that limits the rate of a result.
type Bound struct {
	By       string `json:"by"`       // a constant above
	Sentence string `json:"sentence"` // the explanation with its evidence
}
