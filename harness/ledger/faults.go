package ledger

import (
	"sync"
	"sync/atomic"
)

// samplesPerKind bounds the faulty tasks that are named, for each of lost, duplicated, corrupted, misrouted and reordered.
const samplesPerKind = 7

// fault counts one kind of fault.
type fault struct {
	count   uint64
	samples []string // the first samplesPerKind
}

// faults are what is wrong with a round's tasks, except the lost ones, which are found at the end.
// They are rare, so one lock serves all producers.
type faults struct {
	mu         sync.Mutex
	duplicated fault
	corrupted  fault
	misrouted  fault
	reordered  fault

	unreadableCompleted atomic.Uint64
}

func (f *faults) add(kind *fault, n uint64, sample string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind.count += n
	if len(kind.samples) < samplesPerKind {
		kind.samples = append(kind.samples, sample)
	}
}

// read returns all counts, and the samples.
func (f *faults) read() (duplicated, corrupted, misrouted, reordered uint64, samples []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, kind := range []*fault{&f.duplicated, &f.corrupted, &f.misrouted, &f.reordered} {
		samples = append(samples, kind.samples...)
	}
	return f.duplicated.count, f.corrupted.count, f.misrouted.count, f.reordered.count, samples
}
