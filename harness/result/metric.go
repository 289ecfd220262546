package result

import "slices"

// The names of the metrics. They are fixed: baselines, pages and other people's scripts refer to them.
const (
	CyclesPerS          = "cycles_per_s"
	ServerCPUUsPerCycle = "server_cpu_us_per_cycle"
	ClientCPUUsPerCycle = "client_cpu_us_per_cycle"
	CPUUsPerCycle       = "cpu_us_per_cycle" // both sides together
	ServerRSSMBMax      = "server_rss_mb_max"
	Lost                = "lost"
	Duplicated          = "duplicated"
	Corrupted           = "corrupted"
)

// The latency families. A family's metrics are its name with _p50, _p90, _p95, _p99, _p999, _max and _n.
const (
	EnqueueLatencyMs = "enqueue_latency_ms" // from the call of enqueue to its acknowledgement
	SettleLatencyMs  = "settle_latency_ms"  // from the claim to the acknowledged settle
	CycleLatencyMs   = "cycle_latency_ms"   // from the call of enqueue to the acknowledged completion
)

// Better says in which direction a metric improves.
type Better string

// The two directions: more is better, or less is.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// Spec describes a metric.
type Spec struct {
	Name   string
	Unit   string
	Better Better
	// Family is the latency family that the metric belongs to, or "".
	Family string
}

// percentiles are those of every latency family: the metric's suffix and the percentile.
var percentiles = []struct {
	suffix  string
	percent float64
}{{"_p50", 50}, {"_p90", 90}, {"_p95", 95}, {"_p99", 99}, {"_p999", 99.9}}

// specs is the one table of metrics, in the order in which pages show them.
var specs = func() []Spec {
	table := []Spec{
		{Name: CyclesPerS, Unit: "1/s", Better: Higher},
		{Name: CPUUsPerCycle, Unit: "us", Better: Lower},
		{Name: ServerCPUUsPerCycle, Unit: "us", Better: Lower},
		{Name: ClientCPUUsPerCycle, Unit: "us", Better: Lower},
		{Name: ServerRSSMBMax, Unit: "MB", Better: Lower},
	}
	for _, family := range []string{EnqueueLatencyMs, SettleLatencyMs, CycleLatencyMs} {
		for _, p := range percentiles {
			table = append(table, Spec{Name: family + p.suffix, Unit: "ms", Better: Lower, Family: family})
		}
		table = append(table,
			Spec{Name: family + "_max", Unit: "ms", Better: Lower, Family: family},
			Spec{Name: family + "_n", Unit: "samples", Better: Higher, Family: family})
	}
	for _, name := range []string{Lost, Duplicated, Corrupted} {
		table = append(table, Spec{Name: name, Unit: "tasks", Better: Lower})
	}
	return table
}()

// Specs returns every metric, in the order in which pages show them. The slice is the caller's.
func Specs() []Spec { return slices.Clone(specs) }

// Lookup returns the metric of that name.
func Lookup(name string) (Spec, bool) {
	i := slices.IndexFunc(specs, func(s Spec) bool { return s.Name == name })
	if i < 0 {
		return Spec{}, false
	}
	return specs[i], true
}

// OfLedger reports whether the metric counts tasks at fault. Such a metric is a sum over all rounds, and is
// published even where the ledger does not balance: it is what says so.
func (s Spec) OfLedger() bool {
	return s.Name == Lost || s.Name == Duplicated || s.Name == Corrupted
}
