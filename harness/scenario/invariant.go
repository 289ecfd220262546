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
	Isolated  = "isolated"  // no task is claimed by another tenant, or from another queue, than it was enqueued for
	Exclusive = "exclusive" // no task is leased to two workers at once, and no completion is refused under a valid lease
	Ordered   = "ordered"   // from each queue the tasks of a producer are claimed in the order in which it enqueued them
)

var invariantKinds = []string{Conserved, Isolated, Exclusive, Ordered}

// String writes the invariant in words: "conserved", "ordered on workload.main".
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

// readInvariants reads each invariant "KIND" { on }, of a scenario that is read but for them.
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
			b.AttrProblem("on", fmt.Sprintf("invariant %q takes no on: it is of all workloads", i.Kind), "remove it")
		}
		if first, twice := seen[i.String()]; twice {
			b.LabelProblem(fmt.Sprintf("invariant %q is given twice", i.String()), "the first is at "+first+"; keep one of the two")
			continue
		}
		seen[i.String()] = b.Where()
		invariants = append(invariants, i)
	}
	return invariants
}

// readOn finds the workload that on = "workload.NAME" names. Where there is only one, on may be
// left out.
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
			b.Problem(fmt.Sprintf("%s does not say of which workload", b), fmt.Sprintf("add on = %q", paths[0]))
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

// checkExclusive refuses a workload without leases.
func checkExclusive(b *hclfile.Block, of *Scenario) {
	for _, w := range of.Workloads {
		if w.Driver == DriverNull {
			b.Problem(fmt.Sprintf("%s has no leases: the driver %q hands out each task once", workloadPath+w.Name, w.Driver), "remove it, or take another driver")
		}
	}
}

// checkOrdered says what keeps the order of a workload's tasks from being seen: whatever lets two
// tasks of a queue be on their way at once. A workload of which something is not known is let
// through.
func checkOrdered(b *hclfile.Block, w Workload, of *Scenario) {
	var why []string
	if w.Tenants > 0 && w.Workers > 0 && w.Workers != w.Tenants {
		why = append(why, fmt.Sprintf("its worker slots are %d and its tenants %d: write workers = %d, one slot for each", w.Workers, w.Tenants, w.Tenants))
	}
	if of.Topology.Shards > 1 {
		why = append(why, fmt.Sprintf("the topology has %d shards, each with an order of its own: write shards = 1", of.Topology.Shards))
	}
	if len(of.Faults) > 0 {
		why = append(why, "the scenario has faults, after which tasks are handed out again: remove them")
	}
	if w.EnqueuesAlone() {
		why = append(why, fmt.Sprintf("nothing is claimed: write workers = %d", max(1, w.Tenants)))
	}
	if !w.Priority.IsZero() {
		why = append(why, fmt.Sprintf("it has priority = %s, and tasks of a higher priority go first: remove it", w.Priority))
	}
	if !w.Delay.IsZero() {
		why = append(why, fmt.Sprintf("it has delay = %s, and tasks without a delay overtake the others: remove it", w.Delay))
	}
	if w.Arrivals.Kind == None {
		why = append(why, "nothing is sent: write arrivals = closed()")
	}
	if len(why) > 0 {
		b.Problem(fmt.Sprintf("the order of the tasks of %s can't be seen", workloadPath+w.Name), strings.Join(why, "; "))
	}
}
