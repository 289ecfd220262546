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
	FaultKill       = "kill"       // SIGKILL, then a restart with the same data
	FaultRestart    = "restart"    // SIGTERM, then a restart with the same data
	FaultWipe       = "wipe"       // SIGKILL, removal of the data, then a restart as a new member
	FaultPause      = "pause"      // SIGSTOP, then SIGCONT
	FaultPartition  = "partition"  // the links between the target and the other nodes carry nothing
	FaultDelay      = "delay"      // the links are delayed
	FaultBandwidth  = "bandwidth"  // the links have a limited rate
	FaultMembership = "membership" // the target is removed from the cluster, then added again
)

// EndsProcess reports whether a kind of fault ends server processes, whose counters are then lost.
func EndsProcess(kind string) bool {
	return kind == FaultKill || kind == FaultRestart || kind == FaultWipe
}

// The modes of a partition: how it treats connections.
const (
	Drop  = "drop"  // packets vanish without an error, as when a cable is pulled
	Reset = "reset" // existing and new connections are reset, as when a firewall rejects them
)

// Directions of a fault of links, as its target sees them.
const (
	DirectionBoth = "both"
	DirectionIn   = "in"  // what the others send to the target
	DirectionOut  = "out" // what the target sends to the others
)

// FaultsMax bounds the total number of times that the faults of a scenario occur.
const FaultsMax = 1000

const (
	// faultAtLeast is the shortest part of a window before the first fault. The rest of the window
	// is compared with this part.
	faultAtLeast = time.Second
	// faultWindowMax bounds the memory that a round needs for the cycles in a window with faults.
	faultWindowMax = time.Hour
	// faultGapLeast is the shortest time between two faults, and between the last one and the
	// window's end.
	faultGapLeast = time.Second
	// linkDelayMax bounds the delay of a link and its jitter.
	linkDelayMax = 10 * time.Second
)

// Fault is a disturbance of a cluster under load, once or repeatedly.
type Fault struct {
	Kind   string        `json:"kind"`
	Target Target        `json:"target"`
	At     time.Duration `json:"at"` // start of the first occurrence, from the window's start
	// For is the time until the node is restarted, the links are restored or the node is a member
	// again.
	For   time.Duration `json:"for"`
	Every time.Duration `json:"every"` // from one occurrence to the next; 0 if it occurs once
	Times int           `json:"times"`

	// Of links only.

	Direction string        `json:"direction,omitempty"`
	Mode      string        `json:"mode,omitempty"` // of a partition: Drop or Reset
	Delay     time.Duration `json:"delay"`          // added to each byte, one way
	Jitter    time.Duration `json:"jitter"`         // maximal random addition to Delay
	BytesPerS float64       `json:"rate"`
}

// MarshalJSON writes durations and the rate as text.
func (f Fault) MarshalJSON() ([]byte, error) { return json.Marshal(f.stored()) }

// UnmarshalJSON reads what MarshalJSON writes, and the former names that older versions wrote.
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

// Begins returns the time from the window's start to the i-th occurrence of the fault. i counts
// from 0.
func (f Fault) Begins(i int) time.Duration { return f.At + time.Duration(i)*f.Every }

// OfLinks reports whether the fault affects the links between nodes.
func (f Fault) OfLinks() bool {
	return f.Kind == FaultPartition || f.Kind == FaultDelay || f.Kind == FaultBandwidth
}

// faultKind describes the attributes of one kind of fault, in addition to target, at, every and
// times.
type faultKind struct {
	attributes []string
	// lasts is the attribute with the duration: "for" is required, "restart_after" is optional.
	lasts    string
	least    time.Duration // the shortest duration
	standard time.Duration // the default duration
	// all is what a target of all() would leave, for the error that refuses it; "" if all() is
	// allowed.
	all   string
	nodes int // the smallest cluster
}

// faultKinds has all kinds, each with an example from a scenario.
var faultKinds = map[string]faultKind{
	// kill { target = leader()  at = "5s"  restart_after = "3s" }
	FaultKill: {attributes: []string{"restart_after"}, lasts: "restart_after", standard: time.Second},
	// restart { target = each()  at = "5s"  every = "5s"  times = 3 }
	FaultRestart: {attributes: []string{"restart_after"}, lasts: "restart_after"},
	// wipe { target = follower()  at = "5s"  restart_after = "3s" }
	FaultWipe: {attributes: []string{"restart_after"}, lasts: "restart_after", standard: time.Second, all: "no data", nodes: 3},
	// pause { target = leader()  at = "5s"  for = "30s" }
	FaultPause: {attributes: []string{"for"}, lasts: "for", least: time.Millisecond},
	// partition { target = leader()  at = "5s"  for = "5s"  direction = "in" }
	FaultPartition: {attributes: []string{"for", "direction", "mode"}, lasts: "for", least: time.Millisecond, nodes: 2},
	// delay { target = all()  at = "5s"  for = "5s"  delay = "50ms" }
	FaultDelay: {attributes: []string{"for", "direction", "delay", "jitter"}, lasts: "for", least: time.Millisecond, nodes: 2},
	// bandwidth { target = leader()  at = "5s"  for = "5s"  rate = "10MiB/s" }
	FaultBandwidth: {attributes: []string{"for", "direction", "rate"}, lasts: "for", least: time.Millisecond, nodes: 2},
	// membership { target = follower()  at = "5s"  for = "5s" }
	FaultMembership: {attributes: []string{"for"}, lasts: "for", least: time.Millisecond, all: "no member", nodes: 3},
}

var faultKindNames = []string{
	FaultKill, FaultRestart, FaultWipe, FaultPause, FaultPartition, FaultDelay, FaultBandwidth, FaultMembership,
}

// faultKindsRenamed are former names of kinds, which stored results still have.
var faultKindsRenamed = map[string]string{"member": FaultMembership}

var faultBlock = hclfile.Inner{
	Names: hclfile.Names{Renamed: map[string]string{"how": "mode"}, Attributes: faultTable.names()},
	Label: "kind", Example: `fault "kill" { target = leader()  at = "5s"  restart_after = "3s" }`,
}

// readFaults reads each fault "KIND" { ... } and returns the faults by the time of their first
// occurrence.
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

func checkFaultsFit(b *hclfile.Block, of *Scenario) {
	if !of.Topology.Clustered() && of.Topology.Kind != "" && of.Topology.Kind != ByProgram {
		b.Problem(fmt.Sprintf("%s needs a cluster; the topology is %q", b, of.Topology.Kind), `write topology "raft", or remove the fault`)
	}
	if of.Phases.Window > faultWindowMax {
		b.Problem(fmt.Sprintf("a window with faults may be at most %s long; it is %s", hclfile.FormatDuration(faultWindowMax), hclfile.FormatDuration(of.Phases.Window)),
			"shorten it, and add rounds")
	}
	if len(of.Captures) > 0 {
		b.Problem(fmt.Sprintf("%s cannot be combined with a capture: no profile covers a process that ends", b), "remove one of the two")
	}
	if of.Backlog != nil {
		b.Problem(fmt.Sprintf("%s cannot be combined with a backlog", b), "remove one of the two")
	}
	if of.SeriesEvery > 0 {
		b.Problem(fmt.Sprintf("%s cannot be combined with a series", b), "remove the series: a window with faults records its own")
	}
	if Any(of.Workloads, func(w Workload) bool { return w.Arrivals.Kind == None }) {
		b.Problem(fmt.Sprintf("%s can't be scored without load; the workload has arrivals = none()", b), "write arrivals = closed()")
	}
	if Any(of.Workloads, func(w Workload) bool { return w.Arrivals.OfPeak() }) {
		b.Problem(fmt.Sprintf("%s cannot be combined with a rate that is a multiple of the peak", b), `write a rate as in rate("5k/s"), or arrivals = closed()`)
	}
}

type placedFault struct {
	Fault
	block *hclfile.Block
}

// readFault reads one fault. ok is false if a problem was noted, so that the times of the fault may
// be unknown.
func readFault(b *hclfile.Block, t Topology) (f Fault, ok bool) {
	problems := b.Problems()
	f.Kind = b.Kind(faultKindNames, faultKindsRenamed)
	if f.Kind == "" {
		return f, false
	}
	kind := faultKinds[f.Kind]
	f.Target, _ = readTarget(b, t)
	faultCommon.read(b, &f)
	f.For = b.Duration(kind.lasts, hclfile.DurationSpec{
		Min: kind.least, Max: time.Hour, Default: kind.standard, Required: kind.lasts == "for",
	})
	faultOfKinds.read(b, &f, kind.attributes...)
	refuseOtherKinds(b, kind)
	checkFault(b, kind, f, t)
	return f, b.Problems() == problems
}

// refuseOtherKinds refuses attributes that only other kinds of faults take.
func refuseOtherKinds(b *hclfile.Block, kind faultKind) {
	for _, name := range faultOfKinds.names() {
		if b.Has(name) && !slices.Contains(kind.attributes, name) {
			remedy := "remove it; it takes: " + hclfile.List(kind.attributes)
			b.AttrProblem(name, fmt.Sprintf("%s takes no %s", b, name), remedy)
		}
	}
}

func checkFault(b *hclfile.Block, kind faultKind, f Fault, t Topology) {
	switch {
	case f.Times > 1 && !b.Has("every"):
		b.AttrProblem("times", fmt.Sprintf("%s occurs %d times, and every is not set", b, f.Times), `add every = "10s"`)
	case f.Times == 1 && b.Has("every"):
		b.AttrProblem("every", "every is valid only with times above 1", "add times = 10, or remove it")
	case f.Times > 1 && f.Every < f.For+faultGapLeast:
		b.AttrProblem("every", fmt.Sprintf("%s lasts %s and is repeated every %s; there must be at least %s in between", b,
			hclfile.FormatDuration(f.For), hclfile.FormatDuration(f.Every), hclfile.FormatDuration(faultGapLeast)),
			fmt.Sprintf("write every = %q", hclfile.FormatDuration(f.For+faultGapLeast)))
	}
	switch {
	case f.Target.Kind == TargetAll && kind.all != "":
		b.AttrProblem("target", fmt.Sprintf("%s of all() would leave %s", b, kind.all), "write leader(), follower(), each() or node(\"n1\")")
	case f.Target.Kind == TargetAll && f.Direction != "" && f.Direction != DirectionBoth:
		b.AttrProblem("direction", "direction is not valid with all(): what one node sends, another receives", "remove it")
	}
	checkRemoteFaults(b, f, t)
	checkTargetFaults(b, f, t)
	if t.Clustered() && t.Nodes < kind.nodes {
		b.Problem(fmt.Sprintf("%s needs a cluster of at least %d nodes; it has %d", b, kind.nodes, t.Nodes), moreNodes(t))
	}
}

func moreNodes(t Topology) string {
	if t.Kind == Remote {
		return "add nodes"
	}
	return "raise topology.nodes"
}
