package run

import (
	"context"
	"fmt"

	"github.com/pronybench/prony/harness/audit"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// tasksBefore audits the round's tenants on servers that ran before the round. It returns an error
// if the servers contain tasks of these tenants, because the round's workers would claim them. If
// the servers were started for the round, it returns an empty audit.
func tasksBefore(ctx context.Context, cluster *topology.Cluster, workloads []scenario.Workload) (observe.Audit, error) {
	if !cluster.Attached() {
		return observe.Audit{}, nil
	}
	var tenants []string
	for _, w := range workloads {
		for i := range w.Tenants {
			tenants = append(tenants, load.TenantName(w.FirstTenant+i))
		}
	}
	all, err := audit.ReadAll(ctx, cluster)
	if err != nil {
		return observe.Audit{}, fmt.Errorf("audit the servers before the round: %w", err)
	}
	own := all.Of(tenants...)
	for _, q := range own.Queues {
		if held := q.Held(); held > 0 {
			return observe.Audit{}, fmt.Errorf("the servers hold %d tasks of queue %s of tenant %s, which the scenario uses, expected none: remove them with 'queued queues delete', or wait until they are completed",
				held, q.Queue, q.Tenant)
		}
	}
	return own, nil
}
