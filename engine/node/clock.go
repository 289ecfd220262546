package node

import (
	"context"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// clockEvery is how often watchClock reads the clock.
const clockEvery = 500 * time.Millisecond

// slewedMin is the minimum offset of the wall clock from the engine's clock for which correcting
// the shards' sleeps is worthwhile.
const slewedMin = time.Millisecond

// watchClock keeps slewing the clock when nothing else reads it, notifies the shards while the
// clock is slewed, and updates the gRPC health status, until ctx ends.
func (n *Node) watchClock(ctx context.Context) {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		n.clock.NowMs()
		if n.clock.Offset().Abs() >= slewedMin {
			n.shards.ClockMoved()
		}
		n.showHealth()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// showHealth sets the status of the gRPC health service: NOT_SERVING if the clock does not allow
// the node to lead, else SERVING. A stopping node keeps its status.
func (n *Node) showHealth() {
	status := healthpb.HealthCheckResponse_SERVING
	if n.cluster != nil && !n.cluster.MayLead() {
		status = healthpb.HealthCheckResponse_NOT_SERVING
	}
	services := []string{"", queuepb.QueueService_ServiceDesc.ServiceName}
	if n.admin != nil {
		services = append(services, adminpb.AdminService_ServiceDesc.ServiceName)
	}
	for _, service := range services {
		n.health.SetServingStatus(service, status)
	}
}
