package scenario

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// ByProgram is the kind of a topology whose servers a driver program launches. A target block
// defines such a topology instead of a topology block. Topology.Durability is then one of
// Guarantees.
const ByProgram = "target"

// DriverProgram is the driver that reaches the servers of a topology ByProgram, through the driver
// program.
const DriverProgram = "program"

// Guarantees are the durability guarantees of a target's servers when they acknowledge a write: it
// is in the memory of the process, written to the operating system, covered by an fsync, in the
// memory or files of a majority of nodes, or covered by an fsync on a majority of nodes.
var Guarantees = []string{"memory", "os", "fsync", "majority", "majority_fsync"}

// TargetServers defines the servers that a driver program launches.
type TargetServers struct {
	Name string `json:"name"` // the program's name for the kind of server
	// Addresses are those of servers that already run. If empty, the program starts the servers.
	Addresses []string `json:"addresses,omitempty"`
	// Program is the path of the driver program; "" means the one that is part of Prony.
	Program string `json:"program,omitempty"`
}

func (t Topology) startsNodesByProgram() bool {
	return t.Kind == ByProgram && t.Nodes > 1 && len(t.Target.Addresses) == 0
}

var targetTable = table[Topology]{
	choice(func(t *Topology) *string { return &t.Durability }, hclfile.ChoiceSpec{OneOf: Guarantees, Required: true}, attribute[Topology]{
		name: "guarantee", shownDefault: "required, because every figure depends on it",
		doc: "when the servers acknowledge: `\"memory\"` (in the process's memory), `\"os\"` (written to the operating system), `\"fsync\"` (after an fsync that covers it), `\"majority\"` (in the memory or files of most nodes), `\"majority_fsync\"` (after an fsync on most nodes)",
	}),
	integer(func(t *Topology) *int { return &t.Nodes }, hclfile.IntSpec{Min: 1, Max: NodesMax, Default: 1}, attribute[Topology]{name: "nodes", doc: "{}"}),
	{
		name: "address", shownDefault: "none: the program starts them", fixed: true,
		doc: "a list of `\"host:port\"`: the servers already run, and are left running. Not with `nodes`",
		read: func(b *hclfile.Block, t *Topology) {
			t.Target.Addresses = b.Texts("address", hclfile.NamesSpec{Max: NodesMax, Example: `["10.0.0.1:6379"]`})
		},
	},
	{
		name: "program", shownDefault: "`prony-peers` in the folder of `prony` or in `bin/`, or the program in PRONY_PEERS", fixed: true,
		doc: "the path of another driver program, relative to the scenario file, or absolute",
		read: func(b *hclfile.Block, t *Topology) {
			t.Target.Program = b.Path("program", hclfile.TextSpec{MaxBytes: 500, Example: "bin/my-driver"})
		},
	},
	{name: "settings", block: true, shownDefault: "none", doc: "a block `settings { NAME = VALUE }` with the server's names. The program refuses unknown names"},
}

var targetBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: targetTable.names(), Blocks: []string{"settings"}},
	Label: "name", Example: `target "redis" { guarantee = "fsync" }`, Once: true,
}

// targetName is the name of the target's label in the path of a sweep. In the target block it is
// not an attribute.
const targetName = "name"

// targetSweeps are the attributes of a target that a sweep may vary.
var targetSweeps = append([]string{targetName}, targetTable.swept()...)

func readTargetServers(s *hclfile.Block) Topology {
	blocks := s.Blocks("target", targetBlock)
	if s.HasBlock("topology") && len(blocks) > 0 {
		blocks[0].Problem("target replaces the topology, but the scenario has both", "remove one of the two")
	}
	if len(blocks) == 0 {
		return Topology{}
	}
	b := blocks[0]
	t := Topology{Kind: ByProgram, Target: &TargetServers{}}
	if b.Has(targetName) { // set by a sweep
		t.Target.Name = b.Text(targetName, hclfile.TextSpec{MaxBytes: 100, Example: "redis"})
		if t.Target.Name != "" && !hclfile.IsName(t.Target.Name) {
			b.AttrProblem(targetName, fmt.Sprintf("%.80q is not a name", t.Target.Name), hclfile.NameRule)
		}
	} else {
		t.Target.Name = readName(b)
	}
	targetTable.read(b, &t)
	for _, address := range t.Target.Addresses {
		if !isAddress(address) {
			b.AttrProblem("address", fmt.Sprintf("address contains %.80q, which is not a host and a port", address), `write it as in "10.0.0.1:6379"`)
		}
	}
	if len(t.Target.Addresses) > 0 {
		refuseAttributes(b, "the servers already run", "nodes")
		t.Nodes = len(t.Target.Addresses)
	}
	t.Settings = readTargetSettings(b)
	return t
}

// readTargetSettings reads settings { NAME = VALUE }. The names are those of the server, and the
// driver program refuses unknown ones.
func readTargetSettings(b *hclfile.Block) map[string]string {
	settings := map[string]string{}
	for _, s := range b.Blocks("settings", hclfile.Inner{Names: hclfile.Names{Any: true}, Example: `settings { maxmemory = "1gb" }`, Once: true}) {
		if kinds := s.Kinds(); len(kinds) > 0 {
			s.Problem(fmt.Sprintf("settings of a target contains a block %s", kinds[0]), `write settings { NAME = "VALUE" }`)
		}
		for _, name := range s.Attributes() {
			value, ok := s.PlainText(name, "the setting "+name)
			if ok && len(value) > settingTextMax {
				s.AttrProblem(name, fmt.Sprintf("the setting %s has %d bytes; the maximum is %d", name, len(value), settingTextMax), "")
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

func checkTargetServers(b *hclfile.Block, s *Scenario) {
	if s.Topology.Kind != ByProgram {
		return
	}
	refuse := func(is bool, what, why string) {
		if is {
			b.Problem(fmt.Sprintf("%s has a target, which does not support %s: %s", b, what, why), "remove it, or write a topology")
		}
	}
	for _, part := range []struct{ block, what, why string }{
		{"capture", "a capture", "only Prony's servers record profiles"},
		{"backlog", "a backlog", "it reads Prony's own counters"},
		{"series", "a series", "it reads Prony's own counters"},
		{"attack", "an attack", "it attacks Prony's own interfaces"},
		{"recurring", "recurring tasks", "they are not in the driver protocol"},
		{"observe", "an observe block", "only Prony's servers have the observed metrics"},
		{"soak", "a soak", "it reads Prony's own counters"},
	} {
		refuse(b.HasBlock(part.block), part.what, part.why)
	}
	for _, i := range s.Invariants {
		refuse(i.Kind == Conserved, `the invariant "conserved"`, "it needs the server's counters; Prony's ledger still checks each round")
		refuse(i.Kind == Exclusive, `the invariant "exclusive"`, "driver programs do not report when a lease expires")
	}
	for _, w := range s.Workloads {
		for _, has := range []struct {
			is   bool
			what string
		}{
			{!w.Priority.IsZero(), "priority"},
			{!w.Delay.IsZero(), "delay"},
			{w.RepeatsKeys(), "key"},
			{w.HasUniqueKeys(), "unique"},
			{w.CancelsTasks(), "cancel"},
			{w.HasHeaders(), "headers"},
			{w.FinalTasks, "final_tasks"},
			{w.Idempotent, "idempotent"},
			{w.ReadsTasks(), "reads"},
			{!w.Result.IsZero(), "result"},
			{w.ExtendsLeases(), "extend"},
			{w.FailsTasks(), "fail"},
			{w.Combined, "combined"},
			{w.BusyPoll, "busy_poll"},
		} {
			refuse(has.is, workloadPath+w.Name+"."+has.what, "it is not in the driver protocol")
		}
		refuse(w.EnqueuesAlone() || w.ClaimsAlone(), workloadPath+w.Name+" with only producers or only workers", "the number of tasks on the server is unknown")
	}
}

func checkTargetFaults(b *hclfile.Block, f Fault, t Topology) {
	switch {
	case t.Kind != ByProgram:
	case f.Kind != FaultKill:
		b.Problem(fmt.Sprintf("%s is not valid for a target, whose servers support only kill", b), `write fault "kill", or a topology`)
	case f.Target.Kind != "" && f.Target.Kind != TargetAll:
		b.AttrProblem("target", fmt.Sprintf("a fault kills all servers of a target, but target is %s", f.Target), "write target = all()")
	case len(t.Target.Addresses) > 0:
		b.Problem(fmt.Sprintf("%s needs servers that the driver program starts, but these already run", b), "remove address, or the fault")
	}
}

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
