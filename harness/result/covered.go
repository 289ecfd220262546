package result

// GeneratorNode is the node name of the load generator's process.
const GeneratorNode = "generator"

// Sources of a round's figures. For profiles, the source is CoveredProfile followed by their kind.
const (
	CoveredCPU      = "cpu"      // the CPU clock of a process
	CoveredCounters = "counters" // the counters and histograms of a server
	CoveredProfile  = "profile "
)

// Covered is the time during which the figures from a source were recorded. It may differ from the
// window. Figures per cycle are divided by the cycles of that time.
type Covered struct {
	Of string `json:"of"` // a constant above, or CoveredProfile and a kind
	// Node is the id of the node, or GeneratorNode; "" for a server outside a cluster.
	Node string `json:"node,omitempty"`
	// FromS and ToS are in seconds since the start of the window: a window of ten seconds is 0 to
	// 10.
	FromS  float64 `json:"from_s"`
	ToS    float64 `json:"to_s"`
	Cycles uint64  `json:"cycles,omitempty"` // completed in that time
}
