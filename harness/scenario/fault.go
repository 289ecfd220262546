package scenario

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// The kinds of faults.
const (
	FaultKill       = "kill"       // SIGKILL, and a new start on the same data
	FaultRestart    = "restart"    // SIGTERM, and a new start on the same data
	FaultWipe       = "wipe"       // SIGKILL, the data removed, and a new start as a new member
	FaultPause      = "pause"      // SIGSTOP, and SIGCONT
	FaultPartition  = "partition"  // the links between the target and the others carry nothing
	FaultDelay      = "delay"      // they carry everything later
	FaultBandwidth  = "bandwidth"  // they carry so much a second
	FaultMembership = "membership" // the target is removed from the cluster, and added again
)

// EndsProcess reports whether a kind of fault ends processes of servers. What those have counted is
// lost then.
func EndsProcess(kind string) bool {
	return kind == FaultKill || kind == FaultRestart || kind == FaultWipe
}

// The modes of a partition: how it treats connections.
const (
	Drop  = "drop"  // packets vanish without an error, as when a cable is pulled
	Reset = "reset" // connections are reset and new ones too, as when a firewall rejects them
)

// Directions of a fault of links, as its target sees them.
const (
	DirectionBoth = "both"
	DirectionIn   = "in"  // what the others send to the target
	DirectionOut  = "out" // what the target sends to the others
)

// FaultsMax is how often the faults of a scenario happen together at most.
const FaultsMax = 1000

const (
	// faultAtLeast is the shortest part of a window before the first fault: what comes after is
	// compared with it.
	faultAtLeast = time.Second
	// faultWindowMax bounds what a round keeps of the cycles in a window with faults.
	faultWindowMax = time.Hour
	// faultGapLeast is the shortest time between two faults, and between the last one and the
	// window's end.
	faultGapLeast = time.Second
)

// Fault is something that is done to a cluster under load, once or repeatedly.
type Fault struct {
	Kind   string        `json:"kind"`
	Target Target        `json:"target"`
	At     time.Duration `json:"at"`    // the first begins so long after the window's start
	For    time.Duration `json:"for"`   // how long it lasts: until the node is started again, the links are well, the node is a member again
	Every  time.Duration `json:"every"` // from one to the next; 0 of one that happens once
	Times  int           `json:"times"`

	// Of links only.

	Direction string        `json:"direction,omitempty"`
	Mode      string        `json:"mode,omitempty"` // of a partition: Drop or Reset
	Delay     time.Duration `json:"delay"`          // of each byte, one way
	Jitter    time.Duration `json:"jitter"`         // up to so much more
	BytesPerS float64       `json:"rate"`
}

// MarshalJSON writes durations and the rate as text.
func (f Fault) MarshalJSON() ([]byte, error) { return json.Marshal(f.stored()) }

// UnmarshalJSON reads what MarshalJSON writes, and what it wrote under former names.
func (f *Fault) UnmarshalJSON(data []byte) error {
	former := struct {
		Mode *string `json:"how"`
	}{&f.Mode}
	if err := errors.Join(json.Unmarshal(data, &former), json.Unmarshal(data, f.stored())); err != nil {
		return err
	}
	f.Kind = cmp.Or(faultKindsRenamed[f.Kind], f.Kind)
	return nil
}

func (f *Fault) stored() any {
	type plain Fault
	return &struct {
		*plain
		At     *duration `json:"at"`
		For    *duration `json:"for"`
		Every  *duration `json:"every,omitzero"`
		Delay  *duration `json:"delay,omitzero"`
		Jitter *duration `json:"jitter,omitzero"`
		Rate   *byteRate `json:"rate,omitzero"`
	}{
		(*plain)(f), (*duration)(&f.At), (*duration)(&f.For), (*duration)(&f.Every),
		(*duration)(&f.Delay), (*duration)(&f.Jitter), (*byteRate)(&f.BytesPerS),
	}
}

// Begins returns how long after the window's start the fault begins for the i-th time, from 0.
func (f Fault) Begins(i int) time.Duration { return f.At + time.Duration(i)*f.Every }

// OfLinks reports whether a fault of this kind is one of the links between nodes.
func (f Fault) OfLinks() bool {
	return f.Kind == FaultPartition || f.Kind == FaultDelay || f.Kind == FaultBandwidth
}

// faultKind is what one kind of fault takes, besides target, at, every and times.
type faultKind struct {
	attributes []string
	lasts      string        // the attribute that says how long it lasts: restart_after may be left out
	least      time.Duration // for which it lasts at least
	standard   time.Duration // if it is not said
	all        string        // what all() would leave, which makes it no target; "": it is one
	nodes      int           // that it takes at least
}

// faultKinds are all kinds, each in the words of a scenario.
var faultKinds = map[string]faultKind{
	FaultKill:       {attributes: []string{"restart_after"}, lasts: "restart_after", standard: time.Second},                           // kill { target = leader()  at = "5s"  restart_after = "3s" }
	FaultRestart:    {attributes: []string{"restart_after"}, lasts: "restart_after"},                                                  // restart { target = each()  at = "5s"  every = "5s"  times = 3 }
	FaultWipe:       {attributes: []string{"restart_after"}, lasts: "restart_after", standard: time.Second, all: "no data", nodes: 3}, // wipe { target = follower()  at = "5s"  restart_after = "3s" }
	FaultPause:      {attributes: []string{"for"}, lasts: "for", least: time.Millisecond},                                             // pause { target = leader()  at = "5s"  for = "30s" }
	FaultPartition:  {attributes: []string{"for", "direction", "mode"}, lasts: "for", least: time.Millisecond, nodes: 2},              // partition { target = leader()  at = "5s"  for = "5s"  direction = "in" }
	FaultDelay:      {attributes: []string{"for", "direction", "delay", "jitter"}, lasts: "for", least: time.Millisecond, nodes: 2},   // delay { target = all()  at = "5s"  for = "5s"  delay = "50ms" }
	FaultBandwidth:  {attributes: []string{"for", "direction", "rate"}, lasts: "for", least: time.Millisecond, nodes: 2},              // bandwidth { target = leader()  at = "5s"  for = "5s"  rate = "10MiB/s" }
	FaultMembership: {attributes: []string{"for"}, lasts: "for", least: time.Millisecond, all: "no member", nodes: 3},                 // membership { target = follower()  at = "5s"  for = "5s" }
}

var faultKindNames = []string{
	FaultKill, FaultRestart, FaultWipe, FaultPause, FaultPartition, FaultDelay, FaultBandwidth, FaultMembership,
}

// faultKindsRenamed are former names of kinds, which stored results still have.
var faultKindsRenamed = map[string]string{"member": FaultMembership}

var faultBlock = hclfile.Inner{
	Names: hclfile.Names{Renamed: map[string]string{"how": "mode"}, Attributes: []string{
		"target", "at", "for", "restart_after", "every", "times", "direction", "mode", "delay", "jitter", "rate",
	}},
	Label: "kind", Example: `fault "kill" { target = leader()  at = "5s"  restart_after = "3s" }`,
}

// readFaults reads each fault "KIND" { ... }, in the order in which they begin.
func readFaults(s *hclfile.Block, of *Scenario) []Fault {
	var faults []placedFault
	blocks := s.Blocks("fault", faultBlock)
	for _, b := range blocks {
		if f, ok := readFault(b, of.Topology); ok {
			faults = append(faults, placedFault{f, b})
		}
	}
	if len(blocks) > 0 {
		checkFaultsFit(blocks[0], of)
	}
	return inOrder(faults, of.Phases.Window)
}

// checkFaultsFit says what of a scenario can't be had together with faults.
func checkFaultsFit(b *hclfile.Block, of *Scenario) {
	if !of.Topology.Clustered() && of.Topology.Kind != "" && of.Topology.Kind != ByProgram {
		b.Problem(fmt.Sprintf("%s needs a cluster; the topology is %q", b, of.Topology.Kind), `write topology "raft", or remove the fault`)
	}
	if of.Phases.Window > faultWindowMax {
		b.Problem(fmt.Sprintf("a window with faults may be %s long; it is %s", hclfile.FormatDuration(faultWindowMax), hclfile.FormatDuration(of.Phases.Window)),
			"shorten it, and add rounds")
	}
	if len(of.Captures) > 0 {
		b.Problem(fmt.Sprintf("%s and a capture can't be had together: no profile covers a process that ends", b), "remove one of the two")
	}
	if of.Backlog != nil {
		b.Problem(fmt.Sprintf("%s and a backlog can't be had together", b), "remove one of the two")
	}
	if of.SeriesEvery > 0 {
		b.Problem(fmt.Sprintf("%s and a series can't be had together", b), "remove the series: a window with faults has one of its own")
	}
	if Any(of.Workloads, func(w Workload) bool { return w.Arrivals.Kind == None }) {
		b.Problem(fmt.Sprintf("%s can't be scored without load; the workload has arrivals = none()", b), "write arrivals = closed()")
	}
	if Any(of.Workloads, func(w Workload) bool { return w.Arrivals.OfPeak() }) {
		b.Problem(fmt.Sprintf("%s and a rate that is a part of the peak can't be had together", b), `write a rate as in rate("5k/s"), or arrivals = closed()`)
	}
}

// placedFault is a fault and where it is written.
type placedFault struct {
	Fault
	block *hclfile.Block
}

// readFault reads one fault; ok is false where a problem leaves its times unknown.
func readFault(b *hclfile.Block, t Topology) (f Fault, ok bool) {
	problems := b.Problems()
	f.Kind = b.Kind(faultKindNames, faultKindsRenamed)
	if f.Kind == "" {
		return f, false
	}
	kind := faultKinds[f.Kind]
	f.Target, _ = readTarget(b, t)
	f.At = b.Duration("at", hclfile.DurationSpec{Min: faultAtLeast, Max: 24 * time.Hour, Required: true})
	f.For = b.Duration(kind.lasts, hclfile.DurationSpec{
		Min: kind.least, Max: time.Hour, Default: kind.standard, Required: kind.lasts == "for",
	})
	f.Times = b.Int("times", hclfile.IntSpec{Min: 1, Max: FaultsMax, Default: 1})
	f.Every = b.Duration("every", hclfile.DurationSpec{Min: faultGapLeast, Max: time.Hour})
	readLinks(b, kind, &f)
	checkFault(b, kind, f, t)
	return f, b.Problems() == problems
}

// readLinks reads what only faults of links have, and refuses what the kind does not take.
func readLinks(b *hclfile.Block, kind faultKind, f *Fault) {
	takes := func(name string) bool { return slices.Contains(kind.attributes, name) }
	for _, name := range []string{"for", "restart_after", "direction", "mode", "delay", "jitter", "rate"} {
		if b.Has(name) && !takes(name) {
			remedy := "remove it; it takes: " + hclfile.List(kind.attributes)
			b.AttrProblem(name, fmt.Sprintf("%s takes no %s", b, name), remedy)
		}
	}
	if takes("direction") {
		f.Direction = b.Choice("direction", hclfile.ChoiceSpec{
			OneOf: []string{DirectionBoth, DirectionIn, DirectionOut}, Default: DirectionBoth,
		})
	}
	if takes("mode") {
		f.Mode = b.Choice("mode", hclfile.ChoiceSpec{OneOf: []string{Drop, Reset}, Default: Drop})
	}
	if takes("delay") {
		limit := hclfile.DurationSpec{Min: time.Millisecond, Max: 10 * time.Second}
		f.Jitter = b.Duration("jitter", limit)
		limit.Required = true
		f.Delay = b.Duration("delay", limit)
	}
	if takes("rate") {
		f.BytesPerS = readByteRate(b)
	}
}

// checkFault says what of a fault contradicts itself or the cluster.
func checkFault(b *hclfile.Block, kind faultKind, f Fault, t Topology) {
	switch {
	case f.Times > 1 && !b.Has("every"):
		b.AttrProblem("times", fmt.Sprintf("%s happens %d times, and every is not said", b, f.Times), `add every = "10s"`)
	case f.Times == 1 && b.Has("every"):
		b.AttrProblem("every", "every has a meaning only with times", "add times = 10, or remove it")
	case f.Times > 1 && f.Every < f.For+faultGapLeast:
		b.AttrProblem("every", fmt.Sprintf("%s lasts %s and is repeated every %s; in between there must be %s at least", b,
			hclfile.FormatDuration(f.For), hclfile.FormatDuration(f.Every), hclfile.FormatDuration(faultGapLeast)),
			fmt.Sprintf("write every = %q", hclfile.FormatDuration(f.For+faultGapLeast)))
	}
	switch {
	case f.Target.Kind == TargetAll && kind.all != "":
		b.AttrProblem("target", fmt.Sprintf("%s of all() would leave %s", b, kind.all), "write leader(), follower(), each() or node(\"n1\")")
	case f.Target.Kind == TargetAll && f.Direction != "" && f.Direction != DirectionBoth:
		b.AttrProblem("direction", "direction has no meaning with all(): what one node sends another receives", "remove it")
	}
	checkRemoteFaults(b, f, t)
	checkTargetFaults(b, f, t)
	if t.Clustered() && t.Nodes < kind.nodes {
		b.Problem(fmt.Sprintf("%s needs a cluster of %d nodes at least; it has %d", b, kind.nodes, t.Nodes), moreNodes(t))
	}
}

// moreNodes says how a cluster gets more nodes.
func moreNodes(t Topology) string {
	if t.Kind == Remote {
		return "add nodes"
	}
	return "raise topology.nodes"
}
