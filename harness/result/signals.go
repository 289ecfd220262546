package result

// Signals are what the host and the processes did in a round's window. A value that could not be read is nil, which
// readers show as "unknown": it is never taken for a good one.
type Signals struct {
	StealPercent      *float64 `json:"steal_percent"`       // of all CPUs' time, taken by the hypervisor
	ForeignCPUPercent *float64 `json:"foreign_cpu_percent"` // of all CPUs' time, used by processes that are not of this run
	// ForeignProcesses are those of them that used the most, by name.
	ForeignProcesses []ForeignProcess `json:"foreign_processes,omitempty"`
	// Of PSI: the share of the window in which some task waited for the resource, 0 to 100.
	PressureCPUPercent    *float64 `json:"pressure_cpu_percent"`
	PressureIOPercent     *float64 `json:"pressure_io_percent"`
	PressureMemoryPercent *float64 `json:"pressure_memory_percent"`
	// Of the generator's control group alone, which the servers are in too: nil where it has no figures of its own.
	GroupPressureCPUPercent    *float64 `json:"group_pressure_cpu_percent"`
	GroupPressureIOPercent     *float64 `json:"group_pressure_io_percent"`
	GroupPressureMemoryPercent *float64 `json:"group_pressure_memory_percent"`
	// ThrottledMs is how long the CPU quota of the control group, or of one above it, stopped its tasks, and ThrottledPercent
	// that of the window. Tasks on several CPUs that are stopped at once count several times.
	ThrottledMs      *float64 `json:"throttled_ms"`
	ThrottledPercent *float64 `json:"throttled_percent"`
	ThrottledPeriods *float64 `json:"throttled_periods"` // of the quota, in which that happened
	ClockStepMs      *float64 `json:"clock_step_ms"`     // by which wall time and monotonic time went apart
	FrequencyMHzMin  *float64 `json:"frequency_mhz_min"` // lowest of all CPUs and samples
	FrequencyMHzMax  *float64 `json:"frequency_mhz_max"`
	// FrequencyDropPercent is by how much the fastest CPU of a sample was slower than that of another: CPUs that have nothing
	// to do slow down, so the slowest one says nothing of those that work.
	FrequencyDropPercent *float64 `json:"frequency_drop_percent"`
	Samples              int      `json:"samples"` // taken in the window; its edges included
}

// Warmup says whether the load was steady, of its cycles per second in equal parts of time. A round whose load has no
// steady rate, or too few cycles, has none.
type Warmup struct {
	// Stationary says that the window has no trend that chance does not explain, or none beyond the default limit.
	Stationary bool `json:"stationary"`
	// TrendPercent is by how much the rate rose over the window: the end of the line of Theil and Sen to its start.
	TrendPercent float64 `json:"trend_percent"`
	PValue       float64 `json:"p_value"` // of that trend, by Mann and Kendall: how often chance alone gives one as clear
	// WarmupTrendPercent is the same of the warm-up's last part, nil where that was too short to tell; WarmupS how long the
	// warm-up took.
	WarmupTrendPercent *float64 `json:"warmup_trend_percent,omitempty"`
	WarmupS            float64  `json:"warmup_s"`
	Reason             string   `json:"reason,omitempty"` // why it is not stationary
}

// Balance says whether the workers of a closed workload kept up with its producers. A workload has a backlog if more tasks are
// outstanding than its producers and workers hold at once: the cycle latency then measures how long that queue is.
type Balance struct {
	Workload string `json:"workload"`
	// Held is how many tasks its producers and workers hold at once.
	Held float64 `json:"held"`
	// Outstanding is the median, over equal parts of the window, of the tasks that were sent and neither refused nor completed.
	Outstanding float64 `json:"outstanding"`
	// Growth is by how many tasks the outstanding rose over the window: the slope of Theil and Sen times its length.
	Growth float64 `json:"growth"`
	PValue float64 `json:"p_value"` // of that trend, by Mann and Kendall: how often chance alone gives one as clear
}

// GrowthPercent is the growth in percent of what producers and workers hold at once.
func (b Balance) GrowthPercent() float64 { return 100 * b.Growth / b.Held }

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
	// Unknown are the names of the figures that could not be read, and are 0.
	Unknown []string `json:"unknown,omitempty"`
}
