package result

// Observed describes how the servers were observed during a timed round's window, as the scenario
// requested.
type Observed struct {
	// ScrapeS is the interval of reading the metrics of each server; 0 if they were not read.
	ScrapeS float64 `json:"scrape_s,omitempty"`
	Scrapes uint64  `json:"scrapes,omitempty"` // readings of all servers' metrics
	// Profiles are the kinds of profiles that the servers recorded. The profiles were not stored.
	Profiles []string `json:"profiles,omitempty"`
}

// TimedProfiled reports whether the servers were profiled in the window of a timed round. The
// round's figures then describe a server that is being profiled.
func (r *Round) TimedProfiled() bool {
	return r.Timed() && r.Observed != nil && len(r.Observed.Profiles) > 0
}

// TimedProfiled returns the numbers of the timed rounds in whose windows the servers were profiled.
func (r *Result) TimedProfiled() (numbers []int) {
	for i := range r.Rounds {
		if r.Rounds[i].TimedProfiled() {
			numbers = append(numbers, r.Rounds[i].Number)
		}
	}
	return numbers
}

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
