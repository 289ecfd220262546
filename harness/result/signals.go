package result

// Signals are the host's and the processes' signals in a round's window. A value that could not be
// read is nil, which readers must show as "unknown" and never treat as good.
type Signals struct {
	// StealPercent is the share of all CPUs' time taken by the hypervisor.
	StealPercent *float64 `json:"steal_percent"`
	// ForeignCPUPercent is the share of all CPUs' time used by processes outside this run.
	ForeignCPUPercent *float64 `json:"foreign_cpu_percent"`
	// ForeignProcesses are the foreign processes that used the most CPU time, by name.
	ForeignProcesses []ForeignProcess `json:"foreign_processes,omitempty"`
	// From PSI: the share of the window in which at least one task waited for the resource, 0 to
	// 100.
	PressureCPUPercent    *float64 `json:"pressure_cpu_percent"`
	PressureIOPercent     *float64 `json:"pressure_io_percent"`
	PressureMemoryPercent *float64 `json:"pressure_memory_percent"`
	// The same shares for the control group that contains only the generator and the servers; nil
	// if the group has no separate figures.
	GroupPressureCPUPercent    *float64 `json:"group_pressure_cpu_percent"`
	GroupPressureIOPercent     *float64 `json:"group_pressure_io_percent"`
	GroupPressureMemoryPercent *float64 `json:"group_pressure_memory_percent"`
	// ThrottledMs is how long the CPU quota of the control group, or of a parent group, stopped the
	// group's tasks. ThrottledPercent is the same time in percent of the window. Simultaneous stops
	// on several CPUs are added up.
	ThrottledMs      *float64 `json:"throttled_ms"`
	ThrottledPercent *float64 `json:"throttled_percent"`
	ThrottledPeriods *float64 `json:"throttled_periods"` // periods of the quota with throttling
	// ClockStepMs is the divergence of wall time and monotonic time.
	ClockStepMs     *float64 `json:"clock_step_ms"`
	FrequencyMHzMin *float64 `json:"frequency_mhz_min"` // lowest over all CPUs and samples
	FrequencyMHzMax *float64 `json:"frequency_mhz_max"`
	// FrequencyDropPercent is computed from the frequency of the fastest CPU in each sample: it is
	// the relative difference between the lowest and the highest of these values. Idle CPUs slow
	// down, so the slowest CPU does not describe the busy ones.
	FrequencyDropPercent *float64 `json:"frequency_drop_percent"`
	// Samples is the number of samples taken in the window, including those at its edges.
	Samples int `json:"samples"`
}

// Warmup reports whether the load was steady, judged by its cycles per second in equal intervals.
// It is nil for a round whose load is not meant to have a steady rate, or has too few cycles.
type Warmup struct {
	// Stationary reports that the window has no significant trend that exceeds the default limit.
	Stationary bool `json:"stationary"`
	// TrendPercent is the rise of the rate over the window: the end of the Theil-Sen line relative
	// to its start.
	TrendPercent float64 `json:"trend_percent"`
	// PValue is the p-value of that trend by Mann-Kendall: the probability of a trend at least as
	// clear by chance.
	PValue float64 `json:"p_value"`
	// WarmupTrendPercent is the trend of the warm-up's last part, nil if that was too short;
	// WarmupS is the duration of the warm-up.
	WarmupTrendPercent *float64 `json:"warmup_trend_percent,omitempty"`
	WarmupS            float64  `json:"warmup_s"`
	Reason             string   `json:"reason,omitempty"` // the reason if it is not stationary
}

// Balance reports whether the workers of a closed workload kept up with its producers. A workload
// has a backlog if more tasks are outstanding than its producers and workers can hold
// simultaneously. The cycle latency then measures the length of the backlog.
type Balance struct {
	Workload string `json:"workload"`
	// Held is the number of tasks that its producers and workers hold simultaneously.
	Held float64 `json:"held"`
	// Outstanding is the median, over equal parts of the window, of the tasks that were sent but
	// neither refused nor completed.
	Outstanding float64 `json:"outstanding"`
	// Growth is the increase of the outstanding tasks over the window: the Theil-Sen slope times
	// the length of the window.
	Growth float64 `json:"growth"`
	// PValue is the p-value of that trend by Mann-Kendall: the probability of a trend at least as
	// clear by chance.
	PValue float64 `json:"p_value"`
}

// GrowthPercent returns the growth in percent of Held.
func (b Balance) GrowthPercent() float64 { return 100 * b.Growth / b.Held }

// Process contains the figures of one process in the window: a server or the generator.
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
	// Unknown are the names of the figures that could not be read and are 0.
	Unknown []string `json:"unknown,omitempty"`
}
