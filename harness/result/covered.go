package result

// GeneratorNode is the node of what the load generator's own process did.
const GeneratorNode = "generator"

// Sources of a round's figures. The profiles have the prefix CoveredProfile before their kind.
const (
	CoveredCPU      = "cpu"      // the CPU clock of a process
	CoveredCounters = "counters" // the counters and histograms of a server
	CoveredProfile  = "profile "
)

// Covered says which time the figures from a source cover, beside the window. Figures per cycle are of the cycles of that time.
type Covered struct {
	Of   string `json:"of"`             // a constant above, or CoveredProfile and a kind
	Node string `json:"node,omitempty"` // the node's id, or GeneratorNode; "" of a server that stands alone
	// FromS and ToS are in seconds from the window's begin: a window of ten seconds is 0 to 10.
	FromS  float64 `json:"from_s"`
	ToS    float64 `json:"to_s"`
	Cycles uint64  `json:"cycles,omitempty"` // completed in that time
}
