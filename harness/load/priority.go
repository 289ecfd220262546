package load

import (
	"fmt"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// urgency assigns a priority to each task of a workload. The priority depends only on the
// workload's seed and the task's identity, so a worker knows the priority of each task that it
// claims. urgency does not use the producer's random source. Sizes and queues are therefore the
// same with and without priorities.
type urgency struct {
	scenario.Priority
	seed uint64
}

func newUrgency(w scenario.Workload) urgency { return urgency{w.Priority, uint64(w.Seed)} }

func (u *urgency) of(id ledger.Identity) uint32 {
	if u.IsZero() {
		return 0
	}
	drawn := mixed(u.seed, uint64(id.Producer), id.Sequence)
	if u.Kind != scenario.PriorityShare {
		return uint32(u.Min) + uint32(drawn%uint64(u.Max-u.Min+1))
	}
	if fraction(drawn) < u.Part {
		return uint32(u.Max)
	}
	return 0
}

// mixed hashes numbers to a pseudo-random number. It makes one step of SplitMix64 for each number.
func mixed(numbers ...uint64) (x uint64) {
	for _, n := range numbers {
		x += n + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x
}

func fraction(x uint64) float64 { return float64(x>>11) / (1 << 53) }

// check reports a delivery as corrupted if its priority differs from the priority of the enqueue.
// It does nothing if the workload has no priorities.
func (u *urgency) check(l *ledger.Ledger, id ledger.Identity, from ledger.Address, claimed uint32) {
	if u.IsZero() {
		return
	}
	if want := u.of(id); claimed != want {
		l.Corrupted(fmt.Sprintf("corrupted: %s was enqueued to %s/%s with priority %d and claimed with priority %d", id, from.Tenant, from.Queue, want, claimed))
	}
}
