package scenario

import (
	"fmt"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// faultTable has the attributes of a fault: those of every kind, and those of some kinds.
var faultTable = slices.Concat(faultCommon, faultOfKinds)

// faultCommon has the attributes of every kind of fault. readTarget reads target, which depends on
// the topology.
var faultCommon = table[Fault]{
	{
		name: "target", shownDefault: "required",
		doc: "`leader()`: the leader of shard 0 when the fault begins. `follower()`: the first node that does not lead it. `node(\"n2\")`. `each()`: the first node the first time, the second node the second time, and so on. `all()`: not with `wipe` and `membership`",
	},
	durationAttr(func(f *Fault) *time.Duration { return &f.At }, hclfile.DurationSpec{Min: faultAtLeast, Max: 24 * time.Hour, Required: true}, attribute[Fault]{
		name: "at", doc: "{} after the window's start; the rate after the last faults is compared with the rate before the first fault",
	}),
	integer(func(f *Fault) *int { return &f.Times }, hclfile.IntSpec{Min: 1, Max: FaultsMax, Default: 1}, attribute[Fault]{
		name: "times", doc: fmt.Sprintf("{}: the number of occurrences; at most %d of all faults in total", FaultsMax),
	}),
	durationAttr(func(f *Fault) *time.Duration { return &f.Every }, hclfile.DurationSpec{Min: faultGapLeast, Max: time.Hour}, attribute[Fault]{
		name: "every", shownDefault: "required with `times` above 1",
		doc: "{}: the time from one occurrence to the next. Faults must not overlap, with at least one second between two, and between the last one and the window's end",
	}),
}

// faultOfKinds has the attributes that only some kinds of faults take; see faultKinds, whose
// durations readFault reads.
var faultOfKinds = table[Fault]{
	{name: "for", doc: "up to 1h", shownDefault: "required with the kinds that take it"},
	{name: "restart_after", doc: "up to 1h", shownDefault: "`\"1s\"`; `\"0s\"` with `restart`"},
	choice(func(f *Fault) *string { return &f.Direction }, hclfile.ChoiceSpec{OneOf: []string{DirectionBoth, DirectionIn, DirectionOut}, Default: DirectionBoth}, attribute[Fault]{
		name: "direction", doc: "from the target's point of view: `\"both\"`, `\"in\"` (what the others send to it), `\"out\"`",
	}),
	choice(func(f *Fault) *string { return &f.Mode }, hclfile.ChoiceSpec{OneOf: []string{Drop, Reset}, Default: Drop}, attribute[Fault]{
		name: "mode", doc: "`\"drop\"` or `\"reset\"`: how a partition treats connections",
	}),
	durationAttr(func(f *Fault) *time.Duration { return &f.Delay }, hclfile.DurationSpec{Min: time.Millisecond, Max: linkDelayMax, Required: true}, attribute[Fault]{
		name: "delay", doc: "{}: the delay of each byte on the links",
	}),
	durationAttr(func(f *Fault) *time.Duration { return &f.Jitter }, hclfile.DurationSpec{Min: time.Millisecond, Max: linkDelayMax}, attribute[Fault]{
		name: "jitter", doc: "{}: the largest random addition to `delay`", shownDefault: "none",
	}),
	{
		name: "rate", doc: "`\"512KiB/s\"`, `\"10MiB/s\"`", shownDefault: "required",
		read: func(b *hclfile.Block, f *Fault) { f.BytesPerS = readByteRate(b) },
	},
}
