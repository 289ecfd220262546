package access

import (
	"slices"
	"time"
)

// In a cluster, the nodes that lead shards share the quotas of a tenant. Each node has a limit for
// each quota, and admits up to that limit without a call to another node. A Coordinator, on the
// node that leads shard 0, raises limits so that their sum never exceeds the quota. Nodes report
// their limits and their usage periodically and when they lack room.
//
//   - Only the coordinator raises a limit, and only the node lowers its own. After a lost report,
//     the limit that the coordinator knows is too high; after a lost answer, the limit of the node
//     is too low. Neither admits too much.
//   - When the leadership of a shard moves, its usage moves from the limit of one node to the limit
//     of another. The coordinator therefore raises limits only while its reports cover all shards:
//     no report has the usage of a shard without a leader.
//   - If a node lacks room and no room is left, the coordinator orders the other nodes to lower
//     their limits to their usage and need.
//   - A node that cannot report for shareExpiryMs lowers its limits to its usage. The coordinator
//     forgets a node after silenceMs without a report. A new coordinator waits for the first
//     reports of all nodes, at most silenceMs.

// The kinds of quotas that are shared, in the order of Shares.
const (
	kindTasks = iota
	kindBytes
	kindLeases
	kindEnqueues // per second; a rate has no usage
	kinds
)

// ShareExpiry is how long a node keeps its limits without an answer. Then it lowers them to its
// usage.
const ShareExpiry = shareExpiryMs * time.Millisecond

const (
	shareExpiryMs = 5_000
	silenceMs     = 2 * shareExpiryMs
	// scarceMs is how long nodes get no spare room after a node lacked room.
	scarceMs = 3_000
)

// Share is a node's part of one quota of a tenant.
type Share struct {
	Limit int64 // the node admits usage up to this limit
	Used  int64
	Want  int64 // what the node lacked since its last report; for the rate, its whole demand
}

func (s Share) spare() int64 { return max(0, s.Limit-s.Used) }

// Shares are a node's parts of the quotas of a tenant: tasks, bytes, leases, enqueues per second.
type Shares [kinds]Share

// Report is a node's report of its limits and usage to the coordinator.
type Report struct {
	Node    string
	Seq     uint64 // increases with each report, also across restarts of the node
	Epoch   uint64 // the newest epoch in answers to the node
	Shards  []int  // the shards whose usage is in the report
	Tenants map[string]Shares
}

// Grant changes a node's part of one quota.
type Grant struct {
	More  int64 // to add to the limit
	Spare int64 // lowers the limit to the usage plus Spare; a negative Spare does not lower it
}

// Grants change a node's parts of the quotas of a tenant, in the order of Shares.
type Grants [kinds]Grant

// NoGrants returns grants without a change.
func NoGrants() Grants { return Grants{{Spare: -1}, {Spare: -1}, {Spare: -1}, {Spare: -1}} }

// Answer is the answer to a report. Tenants has only the tenants whose limits change.
type Answer struct {
	Epoch   uint64
	Tenants map[string]Grants
}

// Coordinator raises the limits of nodes. It is a state machine without a clock; one goroutine at a
// time calls it.
type Coordinator struct {
	epoch   uint64
	owners  []string // by shard: the node whose last report has the usage of the shard, or ""
	sinceMs int64
	nodes   map[string]*sharer
	// By tenant and kind: the time until which nodes get no spare room.
	scarce map[string]*[kinds]int64
}

// sharer is the last report of a node, with the grants that the node got since.
type sharer struct {
	seq     uint64
	atMs    int64
	tenants map[string]Shares
}

// NewCoordinator returns the coordinator of one tenure of shard 0, which begins now.
func NewCoordinator(epoch uint64, shards int, nowMs int64) *Coordinator {
	return &Coordinator{epoch: epoch, owners: make([]string, shards), sinceMs: nowMs, nodes: map[string]*sharer{}, scarce: map[string]*[kinds]int64{}}
}

// Report answers a node's report. members are the nodes of the cluster; quotas has the quotas of
// all tenants with quotas. The coordinator retains and changes r.Tenants. Report returns ErrDeposed
// if the node knows a later coordinator, and ErrLateReport if a later report of the node was
// answered.
func (c *Coordinator) Report(nowMs int64, members []string, quotas map[string]Quotas, r Report) (Answer, error) {
	if r.Epoch > c.epoch {
		return Answer{}, ErrDeposed
	}
	if n := c.nodes[r.Node]; n != nil && r.Seq <= n.seq {
		return Answer{}, ErrLateReport
	}
	for node, n := range c.nodes {
		if nowMs-n.atMs > silenceMs {
			delete(c.nodes, node)
			c.own(node, nil)
		}
	}
	c.own(r.Node, r.Shards)
	node := &sharer{seq: r.Seq, atMs: nowMs, tenants: r.Tenants}
	c.nodes[r.Node] = node
	out := Answer{Epoch: c.epoch, Tenants: map[string]Grants{}}
	if !c.complete(nowMs, members) {
		return out, nil
	}
	for tenant := range c.scarce {
		if quotas[tenant] == (Quotas{}) {
			delete(c.scarce, tenant)
		}
	}
	for tenant, shares := range node.tenants {
		q, known := quotas[tenant]
		if !known {
			continue
		}
		grants := NoGrants()
		for kind, most := range q.shared() {
			if most > 0 {
				grants[kind] = c.grant(nowMs, tenant, kind, int64(most), shares[kind])
				shares[kind].Limit += grants[kind].More
			}
		}
		node.tenants[tenant] = shares
		if grants != NoGrants() {
			out.Tenants[tenant] = grants
		}
	}
	return out, nil
}

// own records the shards whose usage a node's report includes.
func (c *Coordinator) own(node string, shards []int) {
	for i, owner := range c.owners {
		if slices.Contains(shards, i) {
			c.owners[i] = node
		} else if owner == node {
			c.owners[i] = ""
		}
	}
}

// complete reports whether the coordinator knows all limits that are in effect.
func (c *Coordinator) complete(nowMs int64, members []string) bool {
	if slices.Contains(c.owners, "") {
		return false
	}
	return nowMs-c.sinceMs > silenceMs || !slices.ContainsFunc(members, func(node string) bool { return c.nodes[node] == nil })
}

func (c *Coordinator) grant(nowMs int64, tenant string, kind int, most int64, own Share) Grant {
	free, spare, wants := most, int64(0), 0.0
	for _, n := range c.nodes {
		shares, known := n.tenants[tenant]
		if !known { // the node does not know the quota yet and counts no usage
			return Grant{Spare: -1}
		}
		s := shares[kind]
		free = max(0, free-s.Limit)
		spare += min(s.spare(), most-spare)
		wants += float64(min(s.Want, most))
	}
	need := max(0, min(own.Want, most)-own.spare())
	scarce := c.scarce[tenant]
	if need > free {
		if scarce == nil {
			scarce = &[kinds]int64{}
			c.scarce[tenant] = scarce
		}
		scarce[kind] = nowMs + scarceMs
	}
	if scarce == nil || scarce[kind] <= nowMs {
		// Far from the quota, a grant includes spare room, so that the node rarely needs an extra
		// report.
		part := free / int64(len(c.nodes)+1)
		return Grant{More: min(free, max(need, part-own.spare())), Spare: -1}
	}
	fair := int64(0) // the node's part of all remaining room, in proportion to its demand
	if want := min(own.Want, most); want > 0 {
		fair = min(want, partOf(min(free, most-spare)+spare, float64(want)/wants))
	}
	if own.spare() > fair {
		return Grant{Spare: fair}
	}
	return Grant{More: min(free, fair-own.spare()), Spare: -1}
}

// partOf returns whole times part, rounded up, but at most whole.
func partOf(whole int64, part float64) int64 {
	if part >= 1 {
		return whole
	}
	return min(whole, int64(float64(whole)*part)+1)
}
