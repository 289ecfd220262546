package node

import (
	"context"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// slewedMin is how far the wall clock must differ from the engine's for the shards' sleeps to be worth correcting.
const slewedMin = time.Millisecond

// watchClock steers the clock also while nobody reads it, tells the shards while it is slewed, and keeps the gRPC health up to date,
// until ctx ends.
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

// showHealth sets what the gRPC health service says: that the node serves, unless its clock does not let it lead. Once the node stops
// that stays.
func (n *Node) showHealth() {
	status := healthpb.HealthCheckResponse_SERVING
	if n.cluster != nil && n.cluster.clocks.Refused() != nil {
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
