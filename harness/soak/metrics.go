package soak

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/harness/result"
)

// collector exports the status that was published last to Prometheus.
type collector struct {
	mu     sync.Mutex
	status Status
}

func (c *collector) publish(status Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
}

func metric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("prony_soak_"+name, help, labels, nil)
}

var (
	windowsDesc   = metric("windows_total", "Windows by kind: judged, invalid, with faults, or cut short.", "kind")
	cyclesDesc    = metric("cycles_total", "Cycles of all windows that were measured to their end.")
	tasksDesc     = metric("tasks_total", "Tasks of the ledger of all windows, by state.", "state")
	atFaultDesc   = metric("tasks_at_fault_total", "Tasks that the ledger of all windows found at fault, by fault.", "fault")
	faultsDesc    = metric("faults_total", "Faults in scored windows, by whether the load recovered from them.", "recovered")
	endsDesc      = metric("server_ends_total", "Servers that ended by themselves.")
	startsDesc    = metric("harness_starts_total", "Starts of the harness on this soak.")
	measuredDesc  = metric("measured_seconds_total", "Measured time of all windows that were measured to their end.")
	leftDesc      = metric("left_seconds", "Estimate of the time until the soak ends.")
	rateDesc      = metric("window_cycles_per_second", "Cycles per second of the newest window.")
	latencyDesc   = metric("window_cycle_latency_p99_seconds", "99th percentile of the cycle latency of the newest window.")
	memoryDesc    = metric("process_resident_memory_bytes", "Resident memory at the end of the newest window.", "process")
	fdsDesc       = metric("process_open_fds", "Open file descriptors at the end of the newest window.", "process")
	goroutineDesc = metric("process_goroutines", "Goroutines at the end of the newest window.", "process")
	diskDesc      = metric("server_data_bytes", "Bytes that the data folder takes of the disk at the end of the newest window.", "process")
	driftDesc     = metric("drift_ratio", "Change of a figure for the worse from start to end so far, as part of its start.", "figure")
	boundDesc     = metric("drift_upper_bound_ratio", "One-sided 95 % upper bound of that change.", "figure")
	limitDesc     = metric("drift_limit_ratio", "Limit of that change.", "figure")
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		windowsDesc, cyclesDesc, tasksDesc, atFaultDesc, faultsDesc, endsDesc, startsDesc, measuredDesc, leftDesc, rateDesc, latencyDesc, memoryDesc, fdsDesc,
		goroutineDesc, diskDesc, driftDesc, boundDesc, limitDesc,
	} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	c.mu.Lock()
	status := c.status
	c.mu.Unlock()
	soak := status.Soak
	if soak == nil {
		return
	}
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	t := &soak.Totals
	counts := []struct {
		desc  *prometheus.Desc
		label string
		value uint64
	}{
		{windowsDesc, "judged", uint64(t.Judged)},
		{windowsDesc, "invalid", uint64(t.Invalid)},
		{windowsDesc, "faults", uint64(t.WithFaults)},
		{windowsDesc, "cut", uint64(t.Cut)},
		{tasksDesc, "enqueued", t.Ledger.Enqueued},
		{tasksDesc, "completed", t.Ledger.Completed},
		{tasksDesc, "unknown", t.Ledger.Unknown},
		{tasksDesc, "in_doubt", t.Ledger.InDoubt},
		{atFaultDesc, "lost", t.Ledger.Lost},
		{atFaultDesc, "duplicated", t.Ledger.Duplicated},
		{atFaultDesc, "corrupted", t.Ledger.Corrupted},
		{atFaultDesc, "misrouted", t.Ledger.Misrouted},
		{atFaultDesc, "reordered", t.Ledger.Reordered},
		{atFaultDesc, "contested", t.Ledger.Contested},
		{atFaultDesc, "revoked", t.Ledger.Revoked},
		{atFaultDesc, "misread", t.Ledger.Misread},
	}
	if r := t.Recovery; r != nil {
		send(faultsDesc, prometheus.CounterValue, float64(r.Faults-r.NotRecovered), "yes")
		send(faultsDesc, prometheus.CounterValue, float64(r.NotRecovered), "no")
	}
	for _, count := range counts {
		send(count.desc, prometheus.CounterValue, float64(count.value), count.label)
	}
	send(cyclesDesc, prometheus.CounterValue, float64(t.Cycles))
	send(endsDesc, prometheus.CounterValue, float64(t.ServerEnds))
	send(startsDesc, prometheus.CounterValue, float64(t.Starts))
	send(measuredDesc, prometheus.CounterValue, soak.MeasuredS)
	send(leftDesc, prometheus.GaugeValue, status.Left.Seconds())
	for _, d := range soak.Drifts {
		send(limitDesc, prometheus.GaugeValue, d.LimitPercent/100, d.Figure)
		if d.WorsePercent != nil {
			send(driftDesc, prometheus.GaugeValue, *d.WorsePercent/100, d.Figure)
			send(boundDesc, prometheus.GaugeValue, *d.HighPercent/100, d.Figure)
		}
	}
	if w := status.Latest; w != nil {
		collectWindow(send, w)
	}
}

func collectWindow(send func(*prometheus.Desc, prometheus.ValueType, float64, ...string), w *Window) {
	if w.Round.WindowSeconds > 0 {
		send(rateDesc, prometheus.GaugeValue, float64(w.Round.Cycles)/w.Round.WindowSeconds)
	}
	// A window that was cut short has no histograms.
	if h, err := result.DecodeHistograms(w.Histograms); err == nil {
		send(latencyDesc, prometheus.GaugeValue, p99Ms(h.Cycle)/1e3)
	}
	for _, p := range w.Processes {
		send(memoryDesc, prometheus.GaugeValue, float64(p.RSSBytes), p.Name)
		send(fdsDesc, prometheus.GaugeValue, float64(p.FDs), p.Name)
		send(goroutineDesc, prometheus.GaugeValue, float64(p.Goroutines), p.Name)
		if p.Name != HarnessName {
			send(diskDesc, prometheus.GaugeValue, float64(p.DataBytes), p.Name)
		}
	}
}
