package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// The references that a scenario may ask for: what the host is worth in the minute of the run.
const (
	ReferenceBare         = "bare"          // the bare data path of a task queue, in processes of its own
	ReferenceEcho         = "echo"          // a message there and back over the driver's transport
	ReferencePebbleCommit = "pebble_commit" // a commit of one call's payloads to an otherwise empty store
	ReferenceFsync        = "fsync"         // an append of 512 bytes and its fdatasync in the data folder
	ReferenceCPU          = "cpu"           // a fixed piece of computing on one core
)

// ReferenceNames returns the names of all references, in the order of the page. The slice is the
// caller's.
func ReferenceNames() []string {
	return []string{ReferenceBare, ReferenceEcho, ReferencePebbleCommit, ReferenceFsync, ReferenceCPU}
}

const (
	referenceSampleMin = 100 * time.Millisecond
	referenceSampleMax = 400 * time.Millisecond
)

// ReferenceSample is how long one sample of a reference takes: a hundredth of the window, so that
// references cost little beside the rounds, but at least 100 ms and at most 400 ms.
func (s *Scenario) ReferenceSample() time.Duration {
	return min(max(s.Phases.Window/100, referenceSampleMin), referenceSampleMax)
}

const (
	bareSampleMin = 200 * time.Millisecond
	bareSampleMax = time.Second
)

// BareSample is how long cycles of the bare data path are counted for one sample: a tenth of the
// window, at least 200 ms and at most a second. Half of that passes before, as warm-up.
func (s *Scenario) BareSample() time.Duration {
	return min(max(s.Phases.Window/10, bareSampleMin), bareSampleMax)
}

// referencesExpected is how long one sample of each reference takes.
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

// readReferences reads references = ["bare", "echo", "pebble_commit", "fsync", "cpu"], after the
// workloads.
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
		b.AttrProblem("references", fmt.Sprintf("an echo uses the transport of the first workload's driver, and %q has none that an echo can use", driver),
			"remove \"echo\", or take one of the drivers "+strings.Join(echoDrivers, ", "))
	}
	return names
}
