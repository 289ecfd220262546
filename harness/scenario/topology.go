package scenario

import (
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

var topologyBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: []string{"shards", "durability", "sync_interval", "listen", "procs", "busy_poll"}},
	Label: "kind", Example: `topology "single" { durability = "none" }`, Required: true, Once: true,
}

// readTopology reads topology "KIND" { shards durability sync_interval listen procs busy_poll }.
func readTopology(s *hclfile.Block) Topology {
	blocks := s.Blocks("topology", topologyBlock)
	if len(blocks) == 0 {
		return Topology{}
	}
	b := blocks[0]
	t := Topology{
		Kind: b.Kind([]string{"single", "sharded"}, []string{"raft", "embedded", "remote"}),
		// Durability is printed beside every number and decides what the number means: it has no default.
		Durability: b.Choice("durability", hclfile.ChoiceSpec{
			Built: []string{"sync", "interval", "none"}, Required: true,
		}),
		Listen: b.Choice("listen", hclfile.ChoiceSpec{Built: []string{"tcp", "unix"}, Default: "tcp"}),
		Procs:  b.Int("procs", hclfile.IntSpec{Min: 1, Max: ProcsMax}),
	}
	t.Shards = readShards(b, t.Kind)
	t.BusyPoll = readBusyPoll(b, t.Procs)
	interval := b.Duration("sync_interval", hclfile.DurationSpec{
		Min: time.Millisecond, Max: 10 * time.Second, Default: 10 * time.Millisecond,
	})
	switch {
	case t.Durability == "interval":
		t.SyncInterval = interval
	case t.Durability != "" && b.Has("sync_interval"):
		b.AttrProblem("sync_interval", `sync_interval has a meaning only with durability = "interval"`,
			`remove it, or write durability = "interval"`)
	}
	return t
}

// shardsMax is how many shards one server process takes.
const shardsMax = 32

// readShards reads shards, which is what tells the two kinds apart.
func readShards(b *hclfile.Block, kind string) int {
	if kind == "sharded" {
		return b.Int("shards", hclfile.IntSpec{Min: 1, Max: shardsMax, Required: true})
	}
	return b.Int("shards", hclfile.IntSpec{
		Min: 1, Max: 1, Default: 1, Why: `for more than one, write topology "sharded"`,
	})
}

// readBusyPoll reads busy_poll, which does nothing in a process that runs on more than one processor.
func readBusyPoll(b *hclfile.Block, procs int) bool {
	poll := b.Bool("busy_poll")
	if poll && procs != 1 {
		b.AttrProblem("busy_poll", "busy_poll has a meaning only with procs = 1", "add procs = 1, or remove it")
	}
	return poll
}
