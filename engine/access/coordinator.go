package access

import (
	"errors"
	"slices"
	"time"
)

// In a cluster the quotas of a tenant are shared among the nodes that lead shards. Each node has a limit of its own for each
// quota, and admits up to it without asking anybody. A Coordinator, at the node that leads shard 0, raises limits so that
// their sum is never above the quota. Nodes report their limits and their usage, periodically and when they lack room.
//
//   - A limit is raised by the coordinator and lowered by its node alone. A report that is lost leaves the coordinator with a
//     limit that is too high, an answer that is lost leaves a node with one that is too low: neither admits too much.
//   - What a shard holds moves with its lead, from the limit of one node to that of another. So the coordinator raises
//     limits only while the reports that it has are of all shards. The usage of a shard without a leader is in no report.
//   - Where a node lacks room and none is left, the others are told to lower their limits to what they use and need.
//   - A node that can't report for shareExpiryMs lowers its limits to what it uses. The coordinator forgets a node after
//     silenceMs without a report, and a new coordinator waits so long for nodes that it does not hear of.

// The kinds of quotas that are shared, in the order of Shares.
const (
	kindTasks = iota
	kindBytes
	kindLeases
	kindEnqueues // a second; what is used of them is not counted
	kinds
)

// ShareExpiry is after how long without an answer a node lowers its limits to what it uses.
const ShareExpiry = shareExpiryMs * time.Millisecond

const (
	shareExpiryMs = 5_000
	silenceMs     = 2 * shareExpiryMs
	// scarceMs is how long nodes have to do without spare room after one lacked some.
	scarceMs = 3_000
)

// Share is a node's part of one quota of a tenant.
type Share struct {
	Limit int64 // up to which the node admits
	Used  int64
	Want  int64 // how much more than it had it needed since its last report; of the rate, how much it needed in all
}

// spare is how much a node may still admit.
func (s Share) spare() int64 { return max(0, s.Limit-s.Used) }

// Shares are a node's parts of the quotas of a tenant: tasks, bytes, leases, enqueues per second.
type Shares [kinds]Share

// Report is what a node tells of itself.
type Report struct {
	Node    string
	Seq     uint64 // of the node's reports, also across restarts
	Epoch   uint64 // the newest that the node was answered in
	Shards  []int  // whose usage is in the report
	Tenants map[string]Shares
}

// Grant changes a node's part of one quota.
type Grant struct {
	More  int64 // to be added to the limit
	Spare int64 // the limit is to be lowered to so much above what is used; below zero: it stays
}

// Grants change a node's parts of the quotas of a tenant, in the order of Shares.
type Grants [kinds]Grant

// NoGrants returns grants that change nothing.
func NoGrants() Grants { return Grants{{Spare: -1}, {Spare: -1}, {Spare: -1}, {Spare: -1}} }

// Answer is the answer to a report: of tenants for which something changes.
type Answer struct {
	Epoch   uint64
	Tenants map[string]Grants
}

// ErrDeposed says that a report knows of a later coordinator.
var ErrDeposed = errors.New("another node has led shard 0 since")

// ErrLateReport says that a later report of the same node was there first.
var ErrLateReport = errors.New("a later report of the node was there first")

// Coordinator raises the limits of nodes. It is a state machine without a clock; one goroutine at a time calls it.
type Coordinator struct {
	epoch   uint64
	owners  []string // of each shard: the node that reported its usage last, unless it has reported without it since
	sinceMs int64
	nodes   map[string]*sharer
	scarce  map[string]*[kinds]int64 // until when, by tenant
}

// sharer is what a node reported last, with what it was granted since.
type sharer struct {
	seq     uint64
	atMs    int64
	tenants map[string]Shares
}

// NewCoordinator returns the coordinator of a term in which a node leads shard 0, from now on.
func NewCoordinator(epoch uint64, shards int, nowMs int64) *Coordinator {
	return &Coordinator{epoch: epoch, owners: make([]string, shards), sinceMs: nowMs, nodes: map[string]*sharer{}, scarce: map[string]*[kinds]int64{}}
}

// Report takes a node's report and answers it. members are the nodes of the cluster, quotas those of all tenants that have
// any. The coordinator keeps r.Tenants.
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

// own notes that a node's report has the usage of some shards.
func (c *Coordinator) own(node string, shards []int) {
	for i, owner := range c.owners {
		if slices.Contains(shards, i) {
			c.owners[i] = node
		} else if owner == node {
			c.owners[i] = ""
		}
	}
}

// complete says whether the coordinator knows all limits that nodes may admit up to.
func (c *Coordinator) complete(nowMs int64, members []string) bool {
	if slices.Contains(c.owners, "") {
		return false
	}
	return nowMs-c.sinceMs > silenceMs || !slices.ContainsFunc(members, func(node string) bool { return c.nodes[node] == nil })
}

// grant decides what changes of one share.
func (c *Coordinator) grant(nowMs int64, tenant string, kind int, most int64, own Share) Grant {
	free, spare, wants := most, int64(0), 0.0
	for _, n := range c.nodes {
		shares, known := n.tenants[tenant]
		if !known { // it has not heard of the quota yet, and counts nothing against it
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
		// Far from the quota, a node has room for a while at once.
		part := free / int64(len(c.nodes)+1)
		return Grant{More: min(free, max(need, part-own.spare())), Spare: -1}
	}
	fair := int64(0) // the part of the node in all that is left, by what it needs
	if want := min(own.Want, most); want > 0 {
		fair = min(want, partOf(min(free, most-spare)+spare, float64(want)/wants))
	}
	if own.spare() > fair {
		return Grant{Spare: fair}
	}
	return Grant{More: min(free, fair-own.spare()), Spare: -1}
}

// partOf returns a part of a whole, rounded up.
func partOf(whole int64, part float64) int64 {
	if part >= 1 {
		return whole
	}
	return min(whole, int64(float64(whole)*part)+1)
}
