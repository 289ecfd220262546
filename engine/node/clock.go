package node

import (
	"context"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// clockEvery is the interval at which watchClock reads the clock.
const clockEvery = 500 * time.Millisecond

// slewedMin is the minimum offset between the wall clock and the engine's clock for which it is
// worthwhile to correct the shards' sleeps.
const slewedMin = time.Millisecond

// watchClock runs until ctx ends. It reads the clock, so that slewing continues even if nothing
// else reads it. It also notifies the shards while the clock is slewed, and updates the gRPC health
// status.
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

// showHealth sets the status of the gRPC health service. The status is NOT_SERVING if the clock
// prevents the node from leading; otherwise it is SERVING. The status of a stopping node does not
// change.
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
