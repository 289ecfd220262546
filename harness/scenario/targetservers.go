package scenario

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// ByProgram is the kind of a topology whose servers a driver program launches: what a target block
// says in place of a topology block. When the servers acknowledge is the topology's Durability
// then, one of Guarantees.
const ByProgram = "target"

// DriverProgram reaches the servers of a topology ByProgram, through the program.
const DriverProgram = "program"

// Guarantees say when the servers of a target acknowledge: in the process's memory, written to the
// operating system, after an fsync that covers it, in the memory or files of most nodes, after an
// fsync on most nodes.
var Guarantees = []string{"memory", "os", "fsync", "majority", "majority_fsync"}

// TargetServers say which servers a driver program launches.
type TargetServers struct {
	Name      string   `json:"name"`                // that the program has for the kind of server
	Addresses []string `json:"addresses,omitempty"` // of servers that run already; none: the program starts them
	// Program is the path of the driver program; "": the one that comes with Prony.
	Program string `json:"program,omitempty"`
}

// startsNodesByProgram reports whether a driver program starts several nodes for each round.
func (t Topology) startsNodesByProgram() bool {
	return t.Kind == ByProgram && t.Nodes > 1 && len(t.Target.Addresses) == 0
}

var targetBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: []string{"guarantee", "nodes", "address", "program"}, Blocks: []string{"settings"}},
	Label: "name", Example: `target "redis" { guarantee = "fsync" }`, Once: true,
}

// targetName is what a sweep calls the name of a target, which in its block is the label and no
// attribute.
const targetName = "name"

// targetSweeps are what of a target a sweep may vary.
var targetSweeps = []string{targetName, "guarantee", "nodes"}

// readTargetServers reads target "NAME" { guarantee nodes address program settings }.
func readTargetServers(s *hclfile.Block) Topology {
	blocks := s.Blocks("target", targetBlock)
	if s.HasBlock("topology") && len(blocks) > 0 {
		blocks[0].Problem("target stands in place of a topology, and the scenario has one too", "remove one of the two")
	}
	if len(blocks) == 0 {
		return Topology{}
	}
	b := blocks[0]
	t := Topology{Kind: ByProgram, Target: &TargetServers{}}
	if b.Has(targetName) { // of a sweep
		t.Target.Name = b.Text(targetName, hclfile.TextSpec{MaxBytes: 100, Example: "redis"})
		if t.Target.Name != "" && !hclfile.IsName(t.Target.Name) {
			b.AttrProblem(targetName, fmt.Sprintf("%.80q is not a name", t.Target.Name), hclfile.NameRule)
		}
	} else {
		t.Target.Name = readName(b)
	}
	t.Durability = b.Choice("guarantee", hclfile.ChoiceSpec{OneOf: Guarantees, Required: true})
	t.Target.Addresses = b.Texts("address", hclfile.NamesSpec{Max: NodesMax, Example: `["10.0.0.1:6379"]`})
	for _, address := range t.Target.Addresses {
		if !isAddress(address) {
			b.AttrProblem("address", fmt.Sprintf("address holds %.80q, which is not a host and a port", address), `write it as in "10.0.0.1:6379"`)
		}
	}
	if len(t.Target.Addresses) > 0 {
		refuseAttributes(b, "the servers run already", "nodes")
		t.Nodes = len(t.Target.Addresses)
	} else {
		t.Nodes = b.Int("nodes", hclfile.IntSpec{Min: 1, Max: NodesMax, Default: 1})
	}
	t.Target.Program = b.Path("program", hclfile.TextSpec{MaxBytes: 500, Example: "bin/my-driver"})
	t.Settings = readTargetSettings(b)
	return t
}

// readTargetSettings reads settings { NAME = VALUE }, whose names are the server's. The program
// refuses those that it does not know.
func readTargetSettings(b *hclfile.Block) map[string]string {
	settings := map[string]string{}
	for _, s := range b.Blocks("settings", hclfile.Inner{Names: hclfile.Names{Any: true}, Example: `settings { maxmemory = "1gb" }`, Once: true}) {
		if kinds := s.Kinds(); len(kinds) > 0 {
			s.Problem(fmt.Sprintf("settings of a target has a block %s in it", kinds[0]), `write settings { NAME = "VALUE" }`)
		}
		for _, name := range s.Attributes() {
			value, ok := s.PlainText(name, "the setting "+name)
			if ok && len(value) > settingTextMax {
				s.AttrProblem(name, fmt.Sprintf("the setting %s has %d bytes; it may have %d", name, len(value), settingTextMax), "")
				continue
			}
			settings[name] = value
		}
	}
	if len(settings) == 0 {
		return nil
	}
	return settings
}

// checkTargetServers refuses what the servers of a target do not have.
func checkTargetServers(b *hclfile.Block, s *Scenario) {
	if s.Topology.Kind != ByProgram {
		return
	}
	refuse := func(is bool, what, why string) {
		if is {
			b.Problem(fmt.Sprintf("%s has %s and a target: %s", b, what, why), "remove it, or write a topology")
		}
	}
	for _, part := range []struct{ block, what, why string }{
		{"capture", "a capture", "other servers than Prony's have no profiles"},
		{"backlog", "a backlog", "it reads Prony's own counters"},
		{"series", "a series", "it reads Prony's own counters"},
		{"attack", "an attack", "it attacks Prony's own interfaces"},
		{"observe", "an observe block", "other servers than Prony's have other metrics, or none"},
		{"soak", "a soak", "it reads Prony's own counters"},
	} {
		refuse(b.HasBlock(part.block), part.what, part.why)
	}
	for _, i := range s.Invariants {
		refuse(i.Kind == Conserved, `the invariant "conserved"`, "it reads the server's own account; Prony's ledger judges each round without it")
		refuse(i.Kind == Exclusive, `the invariant "exclusive"`, "driver programs do not say when a lease expires")
	}
	for _, w := range s.Workloads {
		for _, has := range []struct {
			is   bool
			what string
		}{
			{!w.Priority.IsZero(), "priority"},
			{!w.Delay.IsZero(), "delay"},
			{w.RepeatsKeys(), "key"},
			{w.Idempotent, "idempotent"},
			{w.ReadsTasks(), "reads"},
			{!w.Result.IsZero(), "result"},
			{w.ExtendsLeases(), "extend"},
			{w.FailsTasks(), "fail"},
			{w.Combined, "combined"},
			{w.BusyPoll, "busy_poll"},
		} {
			refuse(has.is, workloadPath+w.Name+"."+has.what, "the driver protocol does not have it")
		}
		refuse(w.EnqueuesAlone() || w.ClaimsAlone(), workloadPath+w.Name+", which enqueues or claims alone,", "what the server still holds is not known")
	}
}

// checkTargetFaults refuses the faults that the servers of a target can't have.
func checkTargetFaults(b *hclfile.Block, f Fault, t Topology) {
	switch {
	case t.Kind != ByProgram:
	case f.Kind != FaultKill:
		b.Problem(fmt.Sprintf("%s is not for a target, whose servers can be killed only", b), `write fault "kill", or a topology`)
	case f.Target.Kind != "" && f.Target.Kind != TargetAll:
		b.AttrProblem("target", fmt.Sprintf("the servers of a target are killed all together, and target is %s", f.Target), "write target = all()")
	case len(t.Target.Addresses) > 0:
		b.Problem(fmt.Sprintf("%s needs servers that were started for the round, and these run already", b), "remove address, or the fault")
	}
}

// setTarget replaces a setting of a target by what a sweep has for it.
func (p *Point) setTarget(attribute, text string) bool {
	if p.Topology.Target == nil || !slices.Contains(targetSweeps, attribute) {
		return false
	}
	switch attribute {
	case targetName:
		p.Topology.Target.Name = text
		return true
	case "guarantee":
		p.Topology.Durability = text
		return true
	}
	return replace(&p.Topology, attribute, text)
}
