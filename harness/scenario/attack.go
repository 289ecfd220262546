package scenario

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// The kinds of attacks. Each is something that a hostile or broken client can do to a server that
// it can connect to. The kinds from AttackMassCancels on are the largest admin calls that a tenant
// may make.
const (
	AttackEmptyTasks      = "empty-tasks"      // maximal calls of empty tasks, without a token
	AttackIdleConnections = "idle-connections" // connections that never authenticate
	AttackUnreadStreams   = "unread-streams"   // worker streams that are never read
	AttackLargePayloads   = "large-payloads"   // tasks of 1 MiB, as many as possible per claim
	AttackManyQueues      = "many-queues"      // new queues in each enqueue and claim
	AttackLongErrors      = "long-errors"      // long failure texts and large results
	AttackLongPolls       = "long-polls"       // claims that wait for one empty queue

	AttackMassCancels = "mass-cancels" // cancels of the maximal number of ready and leased tasks
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

// attackClientsMax bounds the attackers of one kind, because each one takes connections and memory
// of the attacking process.
const attackClientsMax = 64

// Attack describes the hostile clients of the servers. They run in a separate process while the
// workloads run.
type Attack struct {
	Kinds []string `json:"kinds"` // at least one
	// Clients is the number of clients of each kind. 0 means a round without attackers, for
	// comparison in a sweep.
	Clients int `json:"clients"`
}

var attackTable = table[Attack]{
	{
		name: "kinds", doc: "a list of the kinds below", shownDefault: "required", fixed: true,
		read: func(b *hclfile.Block, a *Attack) {
			a.Kinds = b.Names("kinds", hclfile.NamesSpec{Max: len(AttackKinds), Example: `["empty-tasks", "long-polls"]`})
		},
	},
	integer(func(a *Attack) *int { return &a.Clients }, hclfile.IntSpec{Max: attackClientsMax, Default: 1}, attribute[Attack]{
		name: "clients", doc: "{} of each kind; 0 is a round without attackers",
	}),
}

var attackBlock = hclfile.Inner{
	Names:   hclfile.Names{Attributes: attackTable.names()},
	Example: `attack { kinds = ["empty-tasks", "long-polls"]  clients = 2 }`, Once: true,
}

func readAttack(s *hclfile.Block, t Topology) *Attack {
	blocks := s.Blocks("attack", attackBlock)
	if len(blocks) == 0 {
		return nil
	}
	b := blocks[0]
	a := &Attack{}
	attackTable.read(b, a)
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
