package gate

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
)

// Only locks that goroutines wait for during at least 5 % of the time per cycle, 100 µs here, are
// named. Neither a lock with a single wait in a library that makes up 100 % of all waiting, nor a
// lock inside the runtime is named. Profiles of idle loops name nothing.
func TestWhereNamesLocks(t *testing.T) {
	t.Parallel()
	r := good()
	set("cycles_per_s", 10_000)(r)
	block := result.Profile{Kind: "block", Unit: "nanoseconds", Total: 1e9, Top: []result.ProfileEntry{{Function: "a.f", Flat: 1e9, Share: 1}}}
	cpu := block
	cpu.Kind = "cpu"
	other := block
	other.Node = "n2"
	r.Profiles = []result.Profile{cpu, block, other}
	put := result.LockSite{Function: module + "engine/shard.(*inbox).put", From: module + "engine/shard.(*Shard).Settle", Share: 1}
	r.Locks = []result.Lock{
		{Name: "shard.inbox.mu", Kind: "mutex", Share: 0.62, WaitNs: 5e9, WaitNsPerCycle: 18_000, Holders: []result.LockSite{put}},
		{Name: "shard.Shard.pipe", Kind: "channel", Share: 0.3, WaitNsPerCycle: 9_000, Holders: []result.LockSite{
			{Function: module + "engine/shard.(*Shard).release"},
		}},
		{Name: "third", Kind: "mutex", Share: 0.08, WaitNsPerCycle: 8_000},
		{Node: "n2", Name: "runtime.sysmon", Kind: "runtime", Share: 1, WaitNsPerCycle: 50_000},
		{Node: "n3", Name: "raft.(*netPipeline).AppendEntries", Kind: "select", Share: 1, WaitNsPerCycle: 2.5, Waiters: []result.LockSite{{Function: "github.com/hashicorp/raft.(*netPipeline).AppendEntries"}}},
	}
	assert.Equal(t, []string{
		"locks: 62 % of lock wait is shard.inbox.mu, held by shard.(*inbox).put in shard.(*Shard).Settle; 18.0 µs per cycle",
		"locks: 30 % of lock wait is shard.Shard.pipe, emptied by shard.(*Shard).release; 9.00 µs per cycle",
		"cpu: 100 % of 1.00 s spent in a.f",
	}, Check(loaded(t), r).Where)
}
