package gate

import (
	"fmt"

	"github.com/pronybench/prony/harness/result"
)

// SelfTestKind is a kind of change with a known answer that the gate's self-test measures against
// its base.
type SelfTestKind struct {
	Name string `json:"name"`
	Does string `json:"does"` // description
	// Fault is the planted fault of the change's build, or "" if both sides are builds of the same
	// source.
	Fault  string `json:"fault,omitempty"`
	Client bool   `json:"client,omitempty"` // the fault is in the client, so in the generator
	// Changes names the counters of fixed work that the fault changes. An alarm on any other
	// counter is a false alarm.
	Changes []string `json:"changes,omitempty"`
	// Layout reports that the change is linked in other layouts than the base. If Layout is false
	// and Fault is "", both sides are the same binaries.
	Layout bool `json:"layout,omitempty"`
	// Metric is the figure used to calibrate the fault, and Loss the intended loss of the change in
	// that figure, as a fraction.
	Metric string  `json:"metric,omitempty"`
	Loss   float64 `json:"loss,omitempty"`
	Wanted int     `json:"wanted"` // target number of pieces in the bank
}

// Same reports whether both sides are builds of the same source, so that every alarm is false.
func (k SelfTestKind) Same() bool { return k.Fault == "" }

// Target numbers of pieces in the bank by kind, and for CheckKind.
const (
	wantedSame   = 200
	wantedEffect = 100
	wantedCheck  = 10
)

// CountersKind is the kind of pieces with only fixed work. Each piece contains CounterPairs pairs
// of the same binary. CountersWanted is their target number in the bank.
const (
	CountersKind   = "counters"
	CounterPairs   = 10
	CountersWanted = 30
)

// CheckKind is the kind of pieces whose slowed servers are judged by baselines.
const CheckKind = "check"

// CheckLosses are the intended losses of the rate of the servers in a piece of CheckKind, as
// fractions.
var CheckLosses = []float64{0, 0.05, 0.10, 0.20, 0.50, 0.84}

// CheckFault is the fault that slows the servers in a piece of CheckKind, and CheckWanted the
// target number of pieces of CheckKind.
const (
	CheckFault  = "work"
	CheckWanted = wantedCheck
)

// SelfTestKinds returns all kinds of change of the self-test, in the order of the page.
func SelfTestKinds() []SelfTestKind {
	kinds := []SelfTestKind{
		{Name: "identical", Does: "both sides are the same binaries", Wanted: wantedSame},
		{Name: "layout", Does: "two builds of the same source with functions in another order and padded", Layout: true, Wanted: wantedEffect},
	}
	for _, percent := range []int{3, 5, 10} {
		kinds = append(kinds, SelfTestKind{
			Name: fmt.Sprintf("cpu-%d", percent), Does: "the deciding goroutine computes for each task", Fault: "work",
			Metric: result.ServerCPUUsPerCycle, Loss: float64(percent) / 100, Wanted: wantedEffect,
		})
	}
	return append(kinds,
		SelfTestKind{
			Name: "lock-wait-5", Does: "the server sleeps while it holds a lock that publishing needs", Fault: "wait",
			Metric: result.CyclesPerS, Loss: 0.05, Wanted: wantedEffect,
		},
		SelfTestKind{
			Name: "fsync-5", Does: "an additional fsync for every nth task", Fault: "fsync",
			Metric: result.CyclesPerS, Loss: 0.05, Wanted: wantedEffect,
		},
		SelfTestKind{
			Name: "alloc-5", Does: "memory is allocated for each task", Fault: "alloc", Changes: []string{result.WorkAllocs, result.WorkAllocBytes},
			Metric: result.ServerCPUUsPerCycle, Loss: 0.05, Wanted: wantedEffect,
		},
		SelfTestKind{
			Name: "client-5", Does: "the client computes for each task", Fault: "client", Client: true,
			Metric: result.ClientCPUUsPerCycle, Loss: 0.05, Wanted: wantedEffect,
		},
		SelfTestKind{
			Name: "background-5", Does: "an additional goroutine computes for each task", Fault: "background",
			Metric: result.ServerCPUUsPerCycle, Loss: 0.05, Wanted: wantedEffect,
		},
	)
}
