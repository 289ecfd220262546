package result

// Signals are what the host and the processes did in a round's window. A value that could not be read is nil, which
// readers show as "unknown": it is never taken for a good one.
type Signals struct {
	StealPercent      *float64 `json:"steal_percent"`       // of all CPUs' time, taken by the hypervisor
	ForeignCPUPercent *float64 `json:"foreign_cpu_percent"` // of all CPUs' time, used by processes that are not of this run
	// Of PSI: the share of the window in which some task waited for the resource, 0 to 100.
	PressureCPUPercent    *float64 `json:"pressure_cpu_percent"`
	PressureIOPercent     *float64 `json:"pressure_io_percent"`
	PressureMemoryPercent *float64 `json:"pressure_memory_percent"`
	ThrottledMs           *float64 `json:"throttled_ms"`      // that the control group's CPU quota stopped its tasks
	ClockStepMs           *float64 `json:"clock_step_ms"`     // by which wall time and monotonic time went apart
	FrequencyMHzMin       *float64 `json:"frequency_mhz_min"` // lowest of all CPUs and samples
	FrequencyMHzMax       *float64 `json:"frequency_mhz_max"`
}

// Warmup says whether the load was steady when the window began: cycles per second in equal parts of time, of the warm-up
// and of the window.
type Warmup struct {
	Stationary   bool    `json:"stationary"`
	TrendPercent float64 `json:"trend_percent"`    // by how much the rate in the window's second half differs from that in its first
	Reason       string  `json:"reason,omitempty"` // why it is not
}

// Process is a series of a process's own figures in the window: a server's, or the generator's.
type Process struct {
	Name             string  `json:"name"` // "generator", "server", or the node's id
	CPUCores         float64 `json:"cpu_cores"`
	RSSMBMax         float64 `json:"rss_mb_max"`
	FDsMax           int     `json:"fds_max"`
	Goroutines       int     `json:"goroutines_max"`
	GCPauseMsP99     float64 `json:"gc_pause_ms_p99"`
	GCPauseMsMax     float64 `json:"gc_pause_ms_max"`
	GCCycles         uint64  `json:"gc_cycles"`
	AllocatedBytes   uint64  `json:"allocated_bytes"`
	AllocatedObjects uint64  `json:"allocated_objects"`
}
