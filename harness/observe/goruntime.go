package observe

import (
	"errors"
	"math"
	"runtime/metrics"
)

// Runtime contains counters of a process's Go runtime since the start of the process.
type Runtime struct {
	AllocatedBytes   uint64
	AllocatedObjects uint64
	GCCycles         uint64
	Goroutines       int // current number of goroutines
	// pauses of a garbage collection that stopped all goroutines, in seconds
	GCPauses Buckets
}

// Names in runtime/metrics.
const (
	runtimeBytes      = "/gc/heap/allocs:bytes"
	runtimeObjects    = "/gc/heap/allocs:objects"
	runtimeTiny       = "/gc/heap/tiny/allocs:objects"
	runtimeCycles     = "/gc/cycles/total:gc-cycles"
	runtimeGoroutines = "/sched/goroutines:goroutines"
	runtimePauses     = "/sched/pauses/total/gc:seconds"
)

// OwnRuntime reads the counters of this process without stopping the world.
func OwnRuntime() Runtime {
	samples := []metrics.Sample{
		{Name: runtimeBytes},
		{Name: runtimeObjects},
		{Name: runtimeTiny},
		{Name: runtimeCycles},
		{Name: runtimeGoroutines},
		{Name: runtimePauses},
	}
	metrics.Read(samples)
	count := func(i int) uint64 {
		if samples[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return samples[i].Value.Uint64()
	}
	r := Runtime{
		AllocatedBytes: count(0), AllocatedObjects: count(1) + count(2), GCCycles: count(3), Goroutines: int(min(count(4), math.MaxInt32)),
	}
	if v := samples[5].Value; v.Kind() == metrics.KindFloat64Histogram {
		h := v.Float64Histogram()
		for i, n := range h.Counts {
			r.GCPauses = append(r.GCPauses, Bucket{h.Buckets[i+1], n})
		}
	}
	return r
}

// GoroutinesMetric is the server's metric for the number of goroutines.
const GoroutinesMetric = "go_goroutines"

// Names of the same figures in the server's /metrics. Objects are MemStats.Mallocs, which includes
// tiny objects.
const (
	scrapedBytes      = "go_memstats_alloc_bytes_total"
	scrapedObjects    = "go_memstats_mallocs_total"
	scrapedCycles     = "go_gc_cycles_total_gc_cycles_total"
	scrapedGoroutines = GoroutinesMetric
	scrapedPauses     = "go_sched_pauses_total_gc_seconds"
)

// RuntimeOf extracts the counters from a server's metrics. It returns an error if one of them is
// missing.
func RuntimeOf(m Metrics) (Runtime, error) {
	for _, name := range []string{scrapedBytes, scrapedObjects, scrapedCycles, scrapedGoroutines} {
		if v, there := m.Values[name]; !there || v < 0 {
			return Runtime{}, errors.New("the server does not report " + name)
		}
	}
	pauses, there := m.Histograms[scrapedPauses]
	if !there {
		return Runtime{}, errors.New("the server does not report " + scrapedPauses)
	}
	return Runtime{
		AllocatedBytes: uint64(m.Values[scrapedBytes]), AllocatedObjects: uint64(m.Values[scrapedObjects]),
		GCCycles: uint64(m.Values[scrapedCycles]), Goroutines: int(m.Values[scrapedGoroutines]), GCPauses: pauses,
	}, nil
}

// Since returns the growth since an earlier reading of the same process. Goroutines is the larger
// of the two numbers. Since returns an error if a counter has decreased.
func (r Runtime) Since(earlier Runtime) (Runtime, error) {
	if r.AllocatedBytes < earlier.AllocatedBytes || r.AllocatedObjects < earlier.AllocatedObjects || r.GCCycles < earlier.GCCycles {
		return Runtime{}, errors.New("a runtime counter has decreased: the process was restarted")
	}
	pauses, err := r.GCPauses.Since(earlier.GCPauses)
	if err != nil {
		return Runtime{}, err
	}
	return Runtime{
		AllocatedBytes: r.AllocatedBytes - earlier.AllocatedBytes, AllocatedObjects: r.AllocatedObjects - earlier.AllocatedObjects,
		GCCycles: r.GCCycles - earlier.GCCycles, Goroutines: max(r.Goroutines, earlier.Goroutines), GCPauses: pauses,
	}, nil
}
