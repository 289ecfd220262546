// Package audit holds a side's tasks to account: the ledger of its load must balance, and the servers' own count of tasks must agree
// with that ledger.
package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/attack"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/topology"
)

// triesMax is how often an audit is taken before it is given up: it needs shards that keep their leaders meanwhile.
const triesMax = 3

// Read returns what the servers say that they hold, each shard counted once: a node audits the shards that it leads,
// so those that lead any are asked, and all over again if one has lost or won a shard in the meantime.
func Read(ctx context.Context, cluster *topology.Cluster) (observe.Counts, error) {
	all, err := ReadAll(ctx, cluster)
	return all.Totals(attack.Tenant), err // the ledger does not count the attackers' tasks
}

// ReadSince is Read of servers that ran before the round: of the tenants that an earlier audit has, and what was counted since. An audit
// without tenants stands for servers that were started for the round.
func ReadSince(ctx context.Context, cluster *topology.Cluster, earlier observe.Audit) (observe.Counts, error) {
	if len(earlier.Tenants) == 0 {
		return Read(ctx, cluster)
	}
	all, err := ReadAll(ctx, cluster)
	return all.Since(earlier), err
}

// ReadAll returns the queues that Read counts, those of attackers too.
func ReadAll(ctx context.Context, cluster *topology.Cluster) (observe.Audit, error) {
	for range triesMax {
		if err := cluster.WaitForLeaders(ctx); err != nil {
			return observe.Audit{}, err
		}
		before, err := cluster.Leaders(ctx)
		if err != nil {
			return observe.Audit{}, err
		}
		var all observe.Audit
		var auditErr error
		for _, s := range cluster.Servers() {
			if !slices.Contains(before, s.ID) {
				continue
			}
			audit, err := observe.ReadAudit(ctx, cluster.Client(s.Node().Admin))
			auditErr = errors.Join(auditErr, err)
			all.Queues = append(all.Queues, audit.Queues...)
		}
		after, err := cluster.Leaders(ctx)
		switch {
		case err != nil:
			return observe.Audit{}, err
		case slices.Equal(before, after):
			return all, auditErr
		}
	}
	return observe.Audit{}, fmt.Errorf("the shards changed their leaders during each of %d audits", triesMax)
}
