package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// The references that a scenario may ask for. They measure the speed of the host during the run.
const (
	ReferenceBare         = "bare"          // the bare data path of a queue, in separate processes
	ReferenceEcho         = "echo"          // a round trip of a message over the driver's transport
	ReferencePebbleCommit = "pebble_commit" // a commit of one call's payloads to an empty store
	ReferenceFsync        = "fsync"         // an append of 512 bytes and its fdatasync
	ReferenceCPU          = "cpu"           // a fixed computation on one core
)

// ReferenceNames returns the names of all references, in the order of the page. The caller owns the
// slice.
func ReferenceNames() []string {
	return []string{ReferenceBare, ReferenceEcho, ReferencePebbleCommit, ReferenceFsync, ReferenceCPU}
}

const (
	referenceSampleMin = 100 * time.Millisecond
	referenceSampleMax = 400 * time.Millisecond
)

// ReferenceSample returns the duration of one sample of a reference: 1 % of the window, so that
// references are short compared with the rounds, but at least 100 ms and at most 400 ms.
func (s *Scenario) ReferenceSample() time.Duration {
	return min(max(s.Phases.Window/100, referenceSampleMin), referenceSampleMax)
}

const (
	bareSampleMin = 200 * time.Millisecond
	bareSampleMax = time.Second
)

// BareSample returns the duration of one sample of the bare data path: 10 % of the window, but at
// least 200 ms and at most 1 s. A warm-up of half that time precedes the sample.
func (s *Scenario) BareSample() time.Duration {
	return min(max(s.Phases.Window/10, bareSampleMin), bareSampleMax)
}

// referencesExpected returns the expected time for one sample of each reference.
func (s *Scenario) referencesExpected() (all time.Duration) {
	for _, name := range s.References {
		if name == ReferenceBare {
			all += s.BareSample()*3/2 + bareStartExpected
		} else {
			all += s.ReferenceSample() + referenceStartExpected
		}
	}
	return all
}

// echoDrivers are the drivers whose transport an echo can use.
var echoDrivers = []string{"stream", "unary", "rest"}

func readReferences(b *hclfile.Block, s *Scenario) []string {
	const example = `["echo", "cpu"]`
	names := b.Texts("references", hclfile.NamesSpec{Max: len(ReferenceNames()), Example: example})
	for _, name := range names {
		if !slices.Contains(ReferenceNames(), name) {
			b.AttrProblem("references", fmt.Sprintf("unknown reference %q", name), hclfile.Suggest(name, ReferenceNames()))
		}
	}
	if !slices.Contains(names, ReferenceEcho) || len(s.Workloads) == 0 {
		return names
	}
	if driver := s.Workloads[0].Driver; driver != "" && !slices.Contains(echoDrivers, driver) {
		b.AttrProblem("references", fmt.Sprintf("an echo uses the transport of the first workload's driver, but %q has no transport for an echo", driver),
			"remove \"echo\", or use one of the drivers "+strings.Join(echoDrivers, ", "))
	}
	return names
}
