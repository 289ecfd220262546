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
	for name, m := range r.Metrics {
		fields["metrics."+name+".median"] = m.Median
		fields["metrics."+name+".low"] = m.Low
		fields["metrics."+name+".high"] = m.High
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
