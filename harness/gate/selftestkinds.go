package gate

import (
	"fmt"

	"github.com/pronybench/prony/harness/result"
)

// SelfTestKind is a kind of change that the gate's self-test measures beside its base, and whose answer is known.
type SelfTestKind struct {
	Name string `json:"name"`
	Does string `json:"does"` // for a person
	// Fault is the fault of a build with planted faults that the change has, or "" if both sides are builds of the same source.
	Fault  string `json:"fault,omitempty"`
	Client bool   `json:"client,omitempty"` // the fault is the client's: the generator has it
	// Changes names the counters of fixed work that the fault changes. A call of another counter is a false alarm.
	Changes []string `json:"changes,omitempty"`
	// Layout says that the change is linked in other layouts than the base. Without it both sides are the same binaries.
	Layout bool `json:"layout,omitempty"`
	// Metric is the figure that the fault is calibrated by, and Loss what the change is to lose of it, as a part of 1.
	Metric string  `json:"metric,omitempty"`
	Loss   float64 `json:"loss,omitempty"`
	Wanted int     `json:"wanted"` // pieces that the bank is to have at last
}

// Same reports whether both sides are builds of the same source, so that each alarm is a false one.
func (k SelfTestKind) Same() bool { return k.Fault == "" }

// How many pieces of a kind the bank is to have at last, and of the kind CheckKind.
const (
	wantedSame   = 200
	wantedEffect = 100
	wantedCheck  = 10
)

// CountersKind is the name of the pieces that have fixed work alone, of CounterPairs pairs of the same binary, and CountersWanted how many
// of these pieces the bank is to have at last.
const (
	CountersKind   = "counters"
	CounterPairs   = 10
	CountersWanted = 30
)

// CheckKind is the name of the pieces in which slowed servers are judged by baselines.
const CheckKind = "check"

// CheckLosses are the losses of the rate that the servers of a piece of CheckKind have, as parts of 1.
var CheckLosses = []float64{0, 0.05, 0.10, 0.20, 0.50, 0.84}

// CheckFault is the fault that slows these servers, and CheckWanted how many pieces of CheckKind the bank is to have at last.
const (
	CheckFault  = "work"
	CheckWanted = wantedCheck
)

// SelfTestKinds are all kinds of change of the self-test, in the order of the page.
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
			Name: "lock-wait-5", Does: "a lock that publishing needs is held, asleep", Fault: "wait",
			Metric: result.CyclesPerS, Loss: 0.05, Wanted: wantedEffect,
		},
		SelfTestKind{
			Name: "fsync-5", Does: "an fsync for one in so many tasks", Fault: "fsync",
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
			Name: "background-5", Does: "a goroutine beside the others computes for each task", Fault: "background",
			Metric: result.ServerCPUUsPerCycle, Loss: 0.05, Wanted: wantedEffect,
		},
	)
}
