package profile

import (
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
)

// stacks creates a CPU profile from stacks, innermost frame first, with the given number of samples
// each.
func stacks(of map[string]int64, frames map[string][]string) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	known := map[string]*profile.Function{}
	for name, n := range of {
		s := &profile.Sample{Value: []int64{n, n * 1e7}}
		for _, f := range frames[name] {
			if known[f] == nil {
				known[f] = &profile.Function{ID: uint64(len(known) + 1), Name: f}
				p.Function = append(p.Function, known[f])
			}
			l := &profile.Location{ID: uint64(len(p.Location) + 1), Line: []profile.Line{{Function: known[f]}}}
			p.Location = append(p.Location, l)
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// The standard library's work is charged to the function of a main package or the library that
// called it.
func TestTheStandardLibraryIsNotTheCause(t *testing.T) {
	got := charges(stacks(map[string]int64{"burn": 5, "library": 4, "standard": 3}, map[string][]string{
		"burn":     {"time.now", "time.Now", "main.burn", "main.main.gowrap1"},
		"library":  {"runtime.memmove", "time.Now", "github.com/else/where.(*Clock).Tick", "github.com/else/other.Run"},
		"standard": {"time.now", "time.Now", "net/http.(*conn).serve"},
	}), 1)
	assert.Equal(t, []result.Charge{
		{Function: "main.burn", Callers: []string{"main.main.gowrap1"}, Value: 5e7, Samples: 5},
		{Function: "github.com/else/where", Value: 4e7, Samples: 4},
		{Function: "time", Value: 3e7, Samples: 3},
	}, got)
}

// The work of libraries and the runtime is charged to the function of this project that called
// them.
func TestChargesAreToOwnFunctions(t *testing.T) {
	const own = "github.com/pronybench/prony/engine/"
	frames := map[string][]string{
		"alloc":  {"runtime.memclr", "runtime.mallocgc", own + "rpc.leased[go.shape.int]", own + "rpc.(*work).deliver", own + "shard.(*Shard).release"},
		"alloc2": {"runtime.mallocgc", own + "rpc.leased[go.shape.string]", own + "rpc.(*claim).deliver"},
		"write":  {"syscall.Syscall", "os.(*File).Write", "github.com/cockroachdb/pebble/v2.(*DB).Apply", own + "storage.(*Store).apply"},
		"gc":     {"runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker"},
		"idle":   {"runtime.futex", "runtime.findRunnable", "runtime.mcall"},
		"grpc":   {"runtime.memmove", "google.golang.org/grpc/internal/transport.(*framer).fill", "google.golang.org/grpc.(*Server).run"},
	}
	got := charges(stacks(map[string]int64{"alloc": 5, "alloc2": 2, "write": 4, "gc": 3, "idle": 2, "grpc": 1}, frames), 1)
	assert.Equal(t, []result.Charge{
		{Function: own + "rpc.leased", Callers: []string{own + "rpc.(*work).deliver", own + "shard.(*Shard).release"}, Value: 7e7, Samples: 7},
		{Function: own + "storage.(*Store).apply", Value: 4e7, Samples: 4},
		{Function: result.ChargeGC, Value: 3e7, Samples: 3},
		{Function: result.ChargeScheduling, Value: 2e7, Samples: 2},
		{Function: "google.golang.org/grpc/internal/transport", Value: 1e7, Samples: 1},
	}, got)
}
