package access

import (
	"slices"
	"time"
)

// In a cluster, the nodes that lead shards share the quotas of a tenant. Each node has a limit for
// each quota, and admits usage up to its limit without a call to another node. A Coordinator, on
// the node that leads shard 0, raises limits, but never so far that their sum exceeds the quota.
// Nodes report their limits and usage periodically, and when they lack room.
//
//   - Only the coordinator raises a limit, and only the node itself lowers its limit. If a report
//     is lost, the coordinator assumes a limit that is too high. If an answer is lost, the limit of
//     the node is too low. In neither case is too much usage admitted.
//   - When the leadership of a shard moves, its usage moves from the limit of one node to the limit
//     of another. While a shard has no leader, no report includes its usage. The coordinator
//     therefore raises limits only while the reports include all shards.
//   - If a node lacks room and the sum of the limits has reached the quota, the coordinator orders
//     the other nodes to lower their limits to their usage plus a fair part of the remaining room.
//   - A node that cannot report for shareExpiryMs lowers its limits to its usage. The coordinator
//     forgets a node after silenceMs without a report.
//   - A new coordinator raises no limit until each node has reported again after its first answer.
//     An earlier report may have been delayed, and a former coordinator may have raised a limit
//     since. From its first answer on, the node gets answers from no former coordinator. The
//     coordinator waits for at most silenceMs for nodes that do not report at all.

// The kinds of quotas that are shared, in the order of Shares.
const (
	kindTasks = iota
	kindBytes
	kindLeases
	kindEnqueues // rate per second, which has no usage
	kinds
)

// ShareExpiry is the time without an answer after which a node lowers its limits to its usage.
const ShareExpiry = shareExpiryMs * time.Millisecond

const (
	shareExpiryMs = 5_000
	silenceMs     = 2 * shareExpiryMs
	// scarceMs is the time, after a node lacked room, during which nodes get no spare room.
	scarceMs = 3_000
)

// Share is a node's part of one quota of a tenant.
type Share struct {
	Limit int64 // the node admits usage up to this limit
	Used  int64
	// Want is what the node lacked since its last report. For the rate, it is the number of
	// enqueues per second that the node needs.
	Want int64
}

func (s Share) spare() int64 { return max(0, s.Limit-s.Used) }

// Shares contains a node's parts of the quotas of a tenant, in the order of the kinds: tasks,
// bytes, leases, enqueues per second.
type Shares [kinds]Share

// Report is a node's report of its limits and usage to the coordinator.
type Report struct {
	Node    string
	Seq     uint64 // increases with each report, even across restarts of the node
	Epoch   uint64 // the latest epoch in answers to the node
	Shards  []int  // the shards whose usage the report includes
	Tenants map[string]Shares
}

// Grant changes a node's part of one quota.
type Grant struct {
	More  int64 // added to the limit
	Spare int64 // if not negative, the limit is lowered to the usage plus Spare
}

// Grants contains the changes of a node's parts of the quotas of a tenant, in the order of Shares.
type Grants [kinds]Grant

// NoGrants returns Grants that change nothing.
func NoGrants() Grants { return Grants{{Spare: -1}, {Spare: -1}, {Spare: -1}, {Spare: -1}} }

// Answer is the answer to a report. Tenants contains only the tenants whose limits change.
type Answer struct {
	Epoch   uint64
	Tenants map[string]Grants
}

// Coordinator answers the reports of nodes and raises their limits. It is a state machine without a
// clock. It is not safe for concurrent use.
type Coordinator struct {
	epoch   uint64
	owners  []string // by shard: the node whose last report includes the usage of the shard, or ""
	sinceMs int64
	nodes   map[string]*sharer
	// scarce contains, by tenant and kind, the time until which nodes get no spare room.
	scarce map[string]*[kinds]int64
}

// sharer is the last report of a node. Its limits include the grants in the answer to that report.
type sharer struct {
	seq     uint64
	epoch   uint64 // the latest epoch that the node knew
	atMs    int64
	tenants map[string]Shares
}

// NewCoordinator returns the coordinator for a tenure of shard 0 that begins at nowMs.
func NewCoordinator(epoch uint64, shards int, nowMs int64) *Coordinator {
	return &Coordinator{epoch: epoch, owners: make([]string, shards), sinceMs: nowMs, nodes: map[string]*sharer{}, scarce: map[string]*[kinds]int64{}}
}

// Report answers a node's report. members are the nodes of the cluster. quotas contains the quotas
// of all tenants that have quotas. The coordinator retains and changes r.Tenants. Report returns
// ErrDeposed if the node knows a later coordinator, and ErrLateReport if it has already answered
// this or a later report of the node.
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
	node := &sharer{seq: r.Seq, epoch: r.Epoch, atMs: nowMs, tenants: r.Tenants}
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

// own records that the report of a node includes the usage of the given shards, and of no other
// shards.
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
	for _, n := range c.nodes {
		if n.epoch != c.epoch {
			return false
		}
	}
	return nowMs-c.sinceMs > silenceMs || !slices.ContainsFunc(members, func(node string) bool { return c.nodes[node] == nil })
}

func (c *Coordinator) grant(nowMs int64, tenant string, kind int, most int64, own Share) Grant {
	free, spare, wants := most, int64(0), 0.0
	for _, n := range c.nodes {
		shares, known := n.tenants[tenant]
		if !known { // the node does not know the quota yet and reports no usage
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
		// No node has lacked room recently, so a grant includes spare room. The node then rarely
		// needs an additional report.
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

func partOf(whole int64, part float64) int64 {
	if part >= 1 {
		return whole
	}
	return min(whole, int64(float64(whole)*part)+1)
}
