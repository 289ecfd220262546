package scenario

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// The kinds of attacks. Each is what a hostile or broken client can do to a server that it can
// connect to; those from AttackMassCancels on are the largest admin calls that a tenant may make.
const (
	AttackEmptyTasks      = "empty-tasks"      // calls without a token, each with a message of maximal size that consists of empty tasks
	AttackIdleConnections = "idle-connections" // connections that never authenticate
	AttackUnreadStreams   = "unread-streams"   // worker streams with credits for large tasks, which the client never reads
	AttackLargePayloads   = "large-payloads"   // tasks of 1 MiB, as many per claim as one call returns
	AttackManyQueues      = "many-queues"      // tasks for new queues with each call, and claims of other new queues
	AttackLongErrors      = "long-errors"      // failures with long texts and completions with large results
	AttackLongPolls       = "long-polls"       // claims that wait for one empty queue

	AttackMassCancels = "mass-cancels" // cancels of as many tasks as one call takes, ready and leased ones
	AttackRedrives    = "redrives"     // redrives of thousands of dead letters
	AttackPurges      = "purges"       // purges of full queues
	AttackLists       = "lists"        // pages of the largest size, of tasks in each state
	AttackAwaits      = "awaits"       // waits for the results of leased tasks
)

// AttackKinds are all kinds of attacks.
var AttackKinds = []string{
	AttackEmptyTasks, AttackIdleConnections, AttackUnreadStreams, AttackLargePayloads, AttackManyQueues, AttackLongErrors, AttackLongPolls,
	AttackMassCancels, AttackRedrives, AttackPurges, AttackLists, AttackAwaits,
}

// attackClientsMax bounds the attackers of one kind, since each holds connections and memory of the
// attacking process.
const attackClientsMax = 64

// Attack describes the hostile clients of the servers, which run in their own process beside the
// workloads.
type Attack struct {
	Kinds   []string `json:"kinds"`   // at least one
	Clients int      `json:"clients"` // of each kind; 0 is a round without attackers, so that a sweep can compare with it
}

var attackBlock = hclfile.Inner{
	Names:   hclfile.Names{Attributes: []string{"kinds", "clients"}},
	Example: `attack { kinds = ["empty-tasks", "long-polls"]  clients = 2 }`, Once: true,
}

// readAttack reads attack { kinds clients }, or returns nil if the scenario has no attack block.
func readAttack(s *hclfile.Block, t Topology) *Attack {
	blocks := s.Blocks("attack", attackBlock)
	if len(blocks) == 0 {
		return nil
	}
	b := blocks[0]
	a := &Attack{
		Kinds:   b.Names("kinds", hclfile.NamesSpec{Max: len(AttackKinds), Example: `["empty-tasks", "long-polls"]`}),
		Clients: b.Int("clients", hclfile.IntSpec{Min: 0, Max: attackClientsMax, Default: 1}),
	}
	if len(a.Kinds) == 0 {
		b.Problem("attack names no kinds", "the kinds are: "+hclfile.List(AttackKinds))
	}
	for _, kind := range a.Kinds {
		if !slices.Contains(AttackKinds, kind) {
			b.AttrProblem("kinds", fmt.Sprintf("attack kind %q is unknown", kind), hclfile.Suggest(kind, AttackKinds))
		}
	}
	if t.Kind == Embedded || t.Kind == NoTopology || t.Listen == "unix" {
		b.Problem("an attack needs a server that listens on TCP", `write topology "single", "sharded" or "raft" with listen = "tcp"`)
	}
	return a
}
