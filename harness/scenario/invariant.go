package scenario

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Invariant is a statement that must hold at the end of each round.
type Invariant struct {
	Kind string // Conserved, Isolated, Ordered or Exclusive
	On   string // of Ordered: the name of the workload
}

// The kinds of invariants.
const (
	Conserved = "conserved" // no task is lost, completed twice or changed
	Isolated  = "isolated"  // a task is claimed only by its tenant and from its queue
	Exclusive = "exclusive" // at most one worker holds a task, and valid leases can complete it
	Ordered   = "ordered"   // each queue delivers the tasks of a producer in their order
)

var invariantKinds = []string{Conserved, Isolated, Exclusive, Ordered}

// String formats the invariant as text: "conserved", "ordered on workload.main".
func (i Invariant) String() string {
	if i.On == "" {
		return i.Kind
	}
	return i.Kind + onWorkload + i.On
}

const onWorkload = " on " + workloadPath

// MarshalText writes the invariant as String does.
func (i Invariant) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (i *Invariant) UnmarshalText(text []byte) error {
	i.Kind, i.On, _ = strings.Cut(string(text), onWorkload)
	return nil
}

const workloadPath = "workload."

var invariantBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: []string{"on"}},
	Label: "kind", Example: `invariant "conserved" {}`,
}

// readInvariants reads each invariant "KIND" { on }. All parts of the scenario that are read
// earlier in readOnce must be complete.
func readInvariants(s *hclfile.Block, of *Scenario) []Invariant {
	var invariants []Invariant
	seen := map[string]string{}
	for _, b := range s.Blocks("invariant", invariantBlock) {
		i := Invariant{Kind: b.Kind(invariantKinds, nil)}
		if i.Kind == Exclusive {
			checkExclusive(b, of)
		}
		switch {
		case i.Kind == "":
			continue
		case i.Kind == Ordered:
			w, ok := readOn(b, of.Workloads)
			if !ok {
				continue
			}
			i.On = w.Name
			checkOrdered(b, w, of)
		case b.Has("on"):
			b.AttrProblem("on", fmt.Sprintf("invariant %q takes no on: it applies to all workloads", i.Kind), "remove it")
		}
		if first, twice := seen[i.String()]; twice {
			b.LabelProblem(fmt.Sprintf("invariant %q is defined twice", i.String()), "the first is at "+first+"; keep one of the two")
			continue
		}
		seen[i.String()] = b.Where()
		invariants = append(invariants, i)
	}
	return invariants
}

// readOn returns the workload that on = "workload.NAME" names. on is optional if the scenario has a
// single workload.
func readOn(b *hclfile.Block, workloads []Workload) (Workload, bool) {
	var paths []string
	for _, w := range workloads {
		paths = append(paths, workloadPath+w.Name)
	}
	if !b.Has("on") {
		if len(workloads) == 1 {
			return workloads[0], true
		}
		if len(workloads) > 1 {
			b.Problem(fmt.Sprintf("%s needs on: the scenario has several workloads", b), fmt.Sprintf("add on = %q", paths[0]))
		}
		return Workload{}, false
	}
	on := b.Text("on", hclfile.TextSpec{MaxBytes: 200, Example: workloadPath + "main"})
	for i, w := range workloads {
		if on == paths[i] {
			return w, true
		}
	}
	if on != "" && len(workloads) > 0 {
		b.AttrProblem("on", fmt.Sprintf("there is no %.80q", on), hclfile.Suggest(on, paths))
	}
	return Workload{}, false
}

func checkExclusive(b *hclfile.Block, of *Scenario) {
	for _, w := range of.Workloads {
		if w.Driver == DriverNull {
			b.Problem(fmt.Sprintf("%s has no leases: the driver %q hands out each task once", workloadPath+w.Name, w.Driver), "remove it, or use another driver")
		}
	}
}

// checkOrdered notes a problem for everything in a workload that makes the order of its tasks
// unobservable, because two tasks of a queue may be on their way at the same time. Incomplete
// workloads are accepted; the parser has already reported them.
func checkOrdered(b *hclfile.Block, w Workload, of *Scenario) {
	var why []string
	if w.Tenants > 0 && w.Workers > 0 && w.Workers != w.Tenants {
		why = append(why, fmt.Sprintf("it has %d worker slots for %d tenants: write workers = %d, one slot for each tenant", w.Workers, w.Tenants, w.Tenants))
	}
	if of.Topology.Shards > 1 {
		why = append(why, fmt.Sprintf("the topology has %d shards, each with a separate order: write shards = 1", of.Topology.Shards))
	}
	if len(of.Faults) > 0 {
		why = append(why, "the scenario has faults, after which tasks are delivered again: remove them")
	}
	if w.EnqueuesAlone() {
		why = append(why, fmt.Sprintf("nothing is claimed: write workers = %d", max(1, w.Tenants)))
	}
	if !w.Priority.IsZero() {
		why = append(why, fmt.Sprintf("it has priority = %s, and tasks of a higher priority overtake the others: remove it", w.Priority))
	}
	if !w.Delay.IsZero() {
		why = append(why, fmt.Sprintf("it has delay = %s, and tasks without a delay overtake the others: remove it", w.Delay))
	}
	if w.FinalTasks {
		why = append(why, "it has final_tasks, which wait while other tasks are delivered: remove it")
	}
	if w.Arrivals.Kind == None {
		why = append(why, "nothing is sent: write arrivals = closed()")
	}
	if len(why) > 0 {
		b.Problem(fmt.Sprintf("the order of the tasks of %s cannot be observed", workloadPath+w.Name), strings.Join(why, "; "))
	}
}
