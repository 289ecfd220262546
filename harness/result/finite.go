package result

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// checkFinite refuses a result with a number that is NaN or infinite, and names the first one. JSON cannot hold
// such a number, and a reader could not compare with it.
func checkFinite(r *Result) error {
	host := r.Manifest.Host
	fields := map[string]float64{
		"manifest.host.memory_mb":    host.MemoryMB,
		"manifest.host.fsync_ms_p50": host.FsyncMsP50,
		"manifest.host.fsync_ms_max": host.FsyncMsMax,
	}
	addMetrics(fields, "", r.Metrics)
	for _, p := range r.Points {
		at := fmt.Sprintf("points[%d].", p.Number)
		addMetrics(fields, at, p.Metrics)
		for _, w := range p.Workloads {
			addMetrics(fields, at+w.Name+".", w.Metrics)
		}
	}
	for _, w := range r.Workloads {
		addMetrics(fields, w.Name+".", w.Metrics)
	}
	for _, round := range r.Rounds {
		prefix := fmt.Sprintf("rounds[%d].", round.Number)
		fields[prefix+"window_seconds"] = round.WindowSeconds
		for name, v := range round.Metrics {
			fields[prefix+"metrics."+name] = v
		}
		for name, v := range round.Server {
			fields[prefix+"server."+name] = v
		}
		for _, w := range round.Workloads {
			for name, v := range w.Metrics {
				fields[prefix+w.Name+".metrics."+name] = v
			}
		}
		for _, n := range round.Nodes {
			for name, v := range n.Metrics {
				fields[prefix+n.ID+".metrics."+name] = v
			}
			for name, v := range n.Server {
				fields[prefix+n.ID+".server."+name] = v
			}
		}
		addParts(fields, prefix, &round)
	}
	for _, p := range r.Profiles {
		prefix := "profiles." + p.Kind + "."
		fields[prefix+"total"] = p.Total
		for _, e := range p.Top {
			fields[prefix+e.Function+".flat"] = e.Flat
			fields[prefix+e.Function+".cum"] = e.Cum
			fields[prefix+e.Function+".share"] = e.Share
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if v := fields[name]; math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %v: a result holds finite numbers only", name, v)
		}
	}
	return nil
}

func addMetrics(fields map[string]float64, prefix string, metrics map[string]Metric) {
	for name, m := range metrics {
		fields[prefix+"metrics."+name+".median"] = m.Median
		fields[prefix+"metrics."+name+".low"] = m.Low
		fields[prefix+"metrics."+name+".high"] = m.High
	}
}

func addParts(fields map[string]float64, prefix string, r *Round) {
	if a := r.Arrivals; a != nil {
		fields[prefix+"arrivals.per_second"] = a.PerSecond
		fields[prefix+"arrivals.peak_per_second"] = a.PeakPerSecond
	}
	if b := r.Backlog; b != nil {
		fields[prefix+"backlog.fill_s"] = b.FillS
		fields[prefix+"backlog.first_claim_s"] = b.FirstClaimS
		fields[prefix+"backlog.drain_s"] = b.DrainS
		fields[prefix+"backlog.reference_drain_s"] = b.ReferenceDrainS
		fields[prefix+"backlog.rss_mb_fill_max"] = b.RSSMBFillMax
		fields[prefix+"backlog.rss_mb_drain_max"] = b.RSSMBDrainMax
	}
	if f := r.Faults; f != nil {
		addFaults(fields, prefix+"faults.", f)
	}
	for i, s := range r.Series {
		at := fmt.Sprintf("%sseries[%d].", prefix, i)
		fields[at+"at_s"] = s.AtS
		fields[at+"cycles_per_s"] = s.CyclesPerS
		fields[at+"server_rss_mb"] = s.ServerRSSMB
		fields[at+"disk_mb"] = s.DiskMB
	}
}

func addFaults(fields map[string]float64, prefix string, f *Faults) {
	fields[prefix+"baseline_per_s"] = f.BaselinePerS
	fields[prefix+"baseline_dip_percent"] = f.BaselineDipPercent
	for i, cycles := range f.Cycles {
		fields[fmt.Sprintf("%scycles[%d]", prefix, i)] = cycles
	}
	for i, e := range f.Events {
		at := fmt.Sprintf("%sevents[%d].", prefix, i)
		fields[at+"began_s"] = e.BeganS
		fields[at+"done_s"] = e.DoneS
		fields[at+"healed_s"] = e.HealedS
		fields[at+"first_ack_ms"] = e.FirstAckMs
		fields[at+"recovery_ms"] = e.RecoveryMs
		fields[at+"dip_percent"] = e.DipPercent
		fields[at+"fault_per_s"] = e.FaultPerS
		fields[at+"after_per_s"] = e.AfterPerS
	}
}
