// Package audit checks the tasks of a side: the ledger of its load must balance, and the servers'
// own count of tasks must agree with that ledger.
package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/attack"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/topology"
)

// triesMax is the maximum number of attempts at an audit, because the shards must keep their
// leaders during an audit.
const triesMax = 3

// Read returns the servers' counts with each shard counted once. A node only audits the shards that
// it leads, so Read asks all nodes that lead any, and repeats the audit if a leader changed in the
// meantime.
func Read(ctx context.Context, cluster *topology.Cluster) (observe.Counts, error) {
	all, err := ReadAll(ctx, cluster)
	// The ledger counts neither the attackers' tasks nor those of recurring tasks.
	return all.Totals(attack.Tenant, ledger.RecurringTenant), err
}

// ReadSince is Read for servers that ran before the round. It covers the tenants of an earlier
// audit, with the counts since then. An earlier audit without tenants means that the servers were
// started for the round.
func ReadSince(ctx context.Context, cluster *topology.Cluster, earlier observe.Audit) (observe.Counts, error) {
	if len(earlier.Tenants) == 0 {
		return Read(ctx, cluster)
	}
	all, err := ReadAll(ctx, cluster)
	return all.Since(earlier), err
}

// ReadAll returns the queues that Read counts, including those of attackers.
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
